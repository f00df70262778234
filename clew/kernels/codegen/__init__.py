"""The code generator: kernel IR, elementary functions, loops, and NumPy ufuncs made of them."""
