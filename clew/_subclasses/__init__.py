"""Tensors without elements that PyTorch's compiler traces with: clew makes none."""

from clew._subclasses.fake_tensor import FakeTensor, FakeTensorMode

__all__ = ["FakeTensor", "FakeTensorMode"]
