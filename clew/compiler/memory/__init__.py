"""Memory on a budget: which values a compiled call keeps, and which it computes again."""
