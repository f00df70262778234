"""Functions that need the whole tensor: values for Python, random numbers, and rarer ones.

All ranks gather the parts and compute alike; the result lies whole in each.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clew.core.inplace import bump_version
from clew.core.tensor import Tensor, wrap
from clew.distributed.tensor.dtensor import (
    SPECIAL,
    DTensor,
    cut_all,
    part_of,
    wrapped,
    wrapped_like,
)
from clew.distributed.tensor.layouts import gathered_result, mesh_of, replaced
from clew.distributed.tensor.placement_types import Placement, Replicate, Shard
from clew.distributed.tensor.rules.elementwise import computed
from clew.ops.create.constants import ones

_GATHERED = """
    index_select gather take take_along_dim masked_select nonzero diag diagonal trace tril triu roll
    rot90 repeat tile repeat_interleave one_hot unique bincount scatter scatter_add index_add
    batch_norm pad outer ger cdist cross kron logdet det inverse cholesky qr
    alpha_dropout feature_alpha_dropout
"""
_VALUES = (
    "item tolist __bool__ __float__ __int__ __index__ __format__ __iter__ __contains__ __array__"
)


def gathered(func: Any, *args: Any, **options: Any) -> Any:
    """A function of whole tensors."""
    return gathered_result(func, args, options)


def value(func: Any, x: DTensor, *args: Any, **options: Any) -> Any:
    """What Python gets of the whole tensor."""
    return func(x.full_tensor(), *args, **options)


def compared(func: Any, *args: Any, **options: Any) -> Any:
    """Whether whole tensors are equal."""
    return func(*(replaced(each, lambda x: x.full_tensor()) for each in args), **options)


# -- random numbers --------------------------------------------------------------------------------

_RANDOM = """
    uniform_ normal_ bernoulli_ exponential_ geometric_ cauchy_ log_normal_ random_ constant_ ones_
    zeros_ eye_ dirac_ trunc_normal_ xavier_uniform_ xavier_normal_ kaiming_uniform_ kaiming_normal_
    orthogonal_ sparse_
"""


def filled(func: Any, tensor: DTensor, *args: Any, **options: Any) -> DTensor:
    """Fill a tensor as one rank would fill the whole: each draws all, and keeps its part."""
    shape = tensor._whole if tensor._inner is None else tensor._inner[2]
    whole = wrap(np.empty(tuple(shape), tensor._array.dtype))
    func(whole, *args, **options)
    tensor._array[...] = part_of(whole, tensor)._array
    bump_version(tensor, func.__name__)
    return tensor


def drawn_like(func: Any, like: DTensor, *args: Any, **options: Any) -> DTensor:
    """A random tensor in the parts of another one."""
    shape = like._whole if like._inner is None else like._inner[2]
    whole: Tensor = func(wrap(np.empty(tuple(shape), like._array.dtype)), *args, **options)
    return wrapped_like(part_of(whole, like), like)


def dropped(
    func: Any, input: DTensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Any:
    """Dropout with the mask that one rank would draw for the whole."""
    if not training or p == 0:
        return computed(func, input, p, training, inplace)
    mesh_of(func.__name__, [input])
    mask = func(ones(input._whole, dtype=input.dtype), p, True)
    own: list[Placement] = [
        each if isinstance(each, Shard) else Replicate() for each in input._placements
    ]
    kept = wrapped(wrap(cut_all(mask._array, input._mesh, own)), input._mesh, own, input._whole)
    return input.mul_(kept) if inplace else input * kept


SPECIAL.update(dict.fromkeys(_GATHERED.split(), gathered))
SPECIAL.update(dict.fromkeys(_VALUES.split(), value))
SPECIAL.update(dict.fromkeys(_RANDOM.split(), filled))
SPECIAL.update(dict.fromkeys(("dropout", "dropout1d", "dropout2d", "dropout3d"), dropped))
SPECIAL.update(equal=compared, allclose=compared)
SPECIAL.update(dict.fromkeys(("rand_like", "randn_like", "randint_like"), drawn_like))
