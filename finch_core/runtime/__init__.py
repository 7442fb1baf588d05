"""Tensors, and kernels from a Python call to a compiled function and back."""
