"""Making tensors: of constants, ranges, random numbers, and from data."""
