"""Reference implementations: programs over dense NumPy arrays, and the interpreter of assembly."""
