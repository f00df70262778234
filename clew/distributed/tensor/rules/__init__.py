"""What is computed on the parts of a `DTensor`, by families of functions."""

from clew.distributed.tensor.rules import elementwise, products, reductions, samples, views, wholes

__all__ = ["elementwise", "products", "reductions", "samples", "views", "wholes"]
