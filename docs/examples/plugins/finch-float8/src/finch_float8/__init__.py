"""Floats of eight bits for Finch: float8_e5m2 of ml_dtypes."""
