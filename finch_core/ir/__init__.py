"""The two languages, programs and assembly, and the scalar expressions that both use."""
