"""Functions that make masked tensors."""

from __future__ import annotations

from typing import Any

from clew.core.tensor import Tensor
from clew.masked.maskedtensor.core import Constructor, MaskedTensor


def masked_tensor(data: Tensor, mask: Tensor, requires_grad: bool = False) -> Any:
    """A masked tensor of copies of data and mask: a leaf.

    Args:
        data: strided, COO or CSR
        mask: bool, of the same shape and layout: True for the elements that are there
        requires_grad: whether gradients are wanted

    Example:
        >>> mask = clew.tensor([[True, False], [True, True]])
        >>> clew.masked.masked_tensor(clew.arange(4.).reshape(2, 2), mask).sum(0)
        MaskedTensor(
          [  2.0000,   3.0000]
        )
    """
    return MaskedTensor(data, mask, requires_grad)


def as_masked_tensor(data: Tensor, mask: Tensor) -> Any:
    """A masked tensor whose gradient goes on to the data, where it stays a masked tensor.

    Args:
        data: strided, COO or CSR
        mask: bool, of the same shape and layout: True for the elements that are there

    Example:
        >>> data = clew.tensor([1., 2.], requires_grad=True)
        >>> clew.masked.as_masked_tensor(data, clew.tensor([True, False])).exp().sum().backward()
        >>> data.grad
        MaskedTensor(
          [  2.7183,       --]
        )
    """
    checked = MaskedTensor(data, mask)
    return Constructor.apply(data, checked.get_mask()) if data.requires_grad else checked
