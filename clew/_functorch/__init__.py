"""Parts of the function transforms at the places where PyTorch defines them."""

from clew._functorch import vmap

__all__ = ["vmap"]
