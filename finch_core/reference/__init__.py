"""What programs mean over NumPy arrays, and what assembly means: the two oracles."""
