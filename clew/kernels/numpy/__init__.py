"""Kernels over NumPy arrays: array in, array out; the compiled ones are called from here."""
