"""Numerical kernels: pure functions from NumPy arrays to NumPy arrays, without autograd."""
