"""Tensors in files."""
