"""Where arrays live: dtypes and their rules, random streams, array helpers over NumPy."""
