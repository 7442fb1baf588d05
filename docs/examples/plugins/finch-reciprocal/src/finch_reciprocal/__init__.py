"""A pass for Finch: division by a power of two becomes a product."""
