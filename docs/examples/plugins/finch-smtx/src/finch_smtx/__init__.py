"""Files with the patterns of pruned neural networks, for Finch."""
