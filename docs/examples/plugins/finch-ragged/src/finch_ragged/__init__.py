"""Ragged arrays become tensors of Finch without a copy."""
