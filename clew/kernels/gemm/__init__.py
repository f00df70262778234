"""Matrix products: microkernels, packing, cache blocking, and the ufunc around them."""
