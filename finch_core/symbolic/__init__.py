"""What is known of expressions: algebra, simplification, ranges, proofs about extents."""
