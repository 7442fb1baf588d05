"""Benchmarks: ``python -m bench spmv`` and ``python -m bench compile``."""
