"""Analysis of expressions: algebraic rules and simplifier, value ranges, the prover of extents."""
