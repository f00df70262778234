"""Fake tensors: shapes without memory that say they are on the CPU."""

from clew._subclasses.fake_tensor import FakeTensor, FakeTensorMode

__all__ = ["FakeTensor", "FakeTensorMode"]
