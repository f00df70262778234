"""Where tangents lie in memory: as their primals do, so that views of both go alike."""

from __future__ import annotations

import numpy as np

from clew.core.mirror import CONJ, bits_of
from clew.core.tensor import Tensor
from clew.kernels.numpy.strides import owner_of
from clew.kernels.runtime.numpy_capi import address_of


def laid_out_like(out: Tensor, tangent: Tensor) -> Tensor:
    """The tangent in the memory order of its primal: what is a view of one is so of the other."""
    strides = out._array.strides
    if tangent._array.strides == strides:
        return tangent
    order = sorted(range(len(strides)), key=lambda axis: -strides[axis])
    back = sorted(range(len(order)), key=order.__getitem__)
    return tangent.permute(order).contiguous().permute(back)


def in_layout_of(primal: Tensor, tangent: Tensor) -> Tensor:
    """A tangent that lies in its memory as the primal does: views of both then go alike.

    The one that was given, if it does; otherwise a copy.
    """
    if primal._is_lifted or tangent._is_lifted or not primal._array.size:
        return tangent
    like, given = primal._array, tangent._array
    both_complex = like.dtype.kind == given.dtype.kind in "cW"
    same_bits = not both_complex or bits_of(like) == bits_of(given)
    return tangent if same_bits and _place(like) == _place(given) else _copied(like, tangent)


def _place(array: np.ndarray) -> tuple[int, int, list[int]]:
    """The size of an array's memory, where it begins there, and its steps, in elements."""
    memory = owner_of(array)
    start = (address_of(array) - address_of(memory)) // array.itemsize
    steps = [
        step // array.itemsize if size > 1 else 0
        for size, step in zip(array.shape, array.strides, strict=True)
    ]
    # In elements of this array: the real part of complex memory is a view with others. Memory of a
    # foreign owner may be larger than NumPy knows.
    last = start + sum((n - 1) * step for n, step in zip(array.shape, steps, strict=True) if n > 1)
    return max(memory.nbytes // array.itemsize, last + 1), start, steps


def _copied(like: np.ndarray, tangent: Tensor) -> Tensor:
    """A copy of a tangent in memory of its own that is as large as the primal's."""
    size, start, _ = _place(like)
    strides = [step // like.itemsize for step in like.strides]
    place: Tensor = tangent.new_zeros(size).as_strided(like.shape, strides, start)
    bits = bits_of(like)
    if bits & CONJ:
        result: Tensor = place.copy_(tangent.conj()).conj()
    else:
        result = place.copy_(-tangent)._neg_view() if bits else place.copy_(tangent)
    return result
