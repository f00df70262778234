"""Kernels compiled to machine code: scalar expressions, made into loops that NumPy can call."""
