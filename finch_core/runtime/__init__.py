"""What runs: tensors and their conversions, kernels and their specialisations, backends."""
