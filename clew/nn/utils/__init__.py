"""Tools around parameters and sequences."""

from clew.nn.utils import rnn

__all__ = ["rnn"]
