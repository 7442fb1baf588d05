"""Reading and writing tensors in files."""
