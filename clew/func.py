"""Modules as functions: calling one with given tensors as its parameters and buffers."""

from clew.nn.utils.stateless import _functional_call as functional_call

__all__ = ["functional_call"]
