"""The former place of functions of `torch.library`."""

from clew.library import custom_op, impl_abstract

__all__ = ["custom_op", "impl_abstract"]
