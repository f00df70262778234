"""Dropout in its forms, with the same masks as PyTorch for the same seed."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes, random
from clew.core.arguments import explained
from clew.core.inplace import apply_inplace
from clew.core.interception import note_constant
from clew.core.op import OPS, Op
from clew.core.public import public
from clew.core.result_layout import memory_order
from clew.core.tensor import Tensor, wrap
from clew.kernels.codegen.ir import BF16, BOOL, F16, F32, F64, I64, where
from clew.kernels.codegen.ufunc import elementwise
from clew.kernels.numpy.arrays import compute_dtype
from clew.ops.nn.activation.unary import SELU_ALPHA, SELU_SCALE
from clew.source import user_stacklevel

Array = np.ndarray


# A uniform number has 53 random bits: comparing them as integers needs no division.
_BITS = 53


@elementwise("dropout_kept", 2, scalars=(1,), types=[([I64, I64], [BOOL])])
def KEPT_KERNEL(word: Any, bound: Any) -> Any:
    return (word & ((1 << _BITS) - 1)) < bound


@elementwise(
    "dropout",
    3,
    scalars=(2,),
    types=[([each, BOOL, each], [each]) for each in (F16, F32, F64, BF16)],
)
def _DROP_KERNEL(x: Any, kept: Any, scale: Any) -> Any:
    return x * where(kept, scale, 0.0)


def bound(p: float) -> int:
    """The words that keep an element with probability `p` are below it."""
    return math.ceil(p * (1 << _BITS))


def _kept(shape: tuple[int, ...], p: float) -> Array:
    words = random.default_generator.random64(math.prod(shape)).view(np.int64)
    kept: Array = KEPT_KERNEL.specialize(words)(words, bound(p))
    return kept.reshape(shape)


def _mask_like(array: Array, p: float) -> Array:
    """1 with probability `p`, drawn in the order in which the elements lie in memory."""
    if array.flags.c_contiguous:
        return _kept(array.shape, p)
    order = memory_order(array)
    if order == tuple(range(array.ndim)):
        return _kept(array.shape, p)
    drawn = _kept(tuple(array.shape[axis] for axis in order), p)
    return drawn.transpose(np.argsort(order))


def _keep_mask(self: Array, p: float, per_feature: bool) -> Array:
    if not per_feature:
        return _mask_like(self, 1 - p)
    return _kept((*self.shape[:2], *(1,) * (self.ndim - 2)), 1 - p)


def _noise(self: Array, *, p: float, per_feature: bool) -> Array:
    """Which elements `dropout` keeps."""
    return _keep_mask(self, p, per_feature)


def _dropped(self: Array, kept: Array, *, p: float) -> Array:
    """Multiplied by 0, or by 1 / (1 - p)."""
    dtype = self.real.dtype
    wide = compute_dtype(dtype).type
    scale = dtype.type(wide(1) / wide(1 - p))
    kernel = _DROP_KERNEL.specialize(self)
    if kernel is not None:
        result: Array = kernel(self, kept, scale)
        return result
    return self * (kept * scale).astype(dtype, copy=False)


def _alpha_noise(self: Array, *, p: float, per_feature: bool) -> tuple[Array, Array]:
    """What `alpha_dropout` multiplies by, and what it then adds.

    Dropped units get selu's value at minus infinity; all are then rescaled to keep the variance.
    """
    kept = _keep_mask(self, p, per_feature)
    floor = SELU_ALPHA * SELU_SCALE
    scale = 1.0 / math.sqrt((floor * floor * p + 1) * (1 - p))
    factor = (kept * scale).astype(self.dtype)
    return factor, (kept * (floor * scale) + (p - 1) * floor * scale).astype(self.dtype)


NOISE = Op("_dropout_noise", _noise, non_differentiable="random numbers")


def _drop_gradient(g: Any, kept: Any, p: float) -> Any:
    """Of tensors or bare arrays."""
    return (_dropped if type(g) is Array else DROP)(g, kept, p=p)


DROP: Op = Op(
    "dropout", _dropped, grads={"self": _drop_gradient},
    node="MulBackward0", bare=True,
)  # fmt: skip
ALPHA_NOISE = Op(
    "_alpha_dropout_noise", _alpha_noise, outputs=2, non_differentiable="random numbers"
)


def _zero(input: Tensor) -> Tensor:
    """What everything is multiplied by where all is dropped."""
    result: Tensor = note_constant(wrap(np.zeros((), input._array.dtype)))
    return result


def _multiply(input: Tensor, factor: Tensor, inplace: bool) -> Tensor:
    return apply_inplace(OPS["mul"], input, factor) if inplace else input * factor


def _check_input(input: Tensor, per_feature: bool) -> None:
    if per_feature and input._array.ndim < 2:
        raise RuntimeError(
            "Feature dropout requires at least 2 dimensions in the input" + errors.at_user_line()
        )
    have = input.dtype
    if have.category < dtypes.FLOAT:
        raise errors.in_place_dtype("Float", have.scalar_name)
    if have.is_complex:
        raise errors.no_kernel("bernoulli_scalar_cpu_", have)


def drop(weights: Tensor, p: float) -> Tensor:
    """Dropout as `torch.dropout` does it while training, errors included."""
    check_probability(p)
    return _dropout(weights, p, True, False, per_feature=False)


def _dropout(input: Tensor, p: float, train: bool, inplace: bool, per_feature: bool) -> Tensor:
    if not isinstance(input, Tensor):
        raise errors.wrong_argument("dropout", "input", 1, "Tensor", input)
    if p == 0 or not train or not input._array.size:
        return input
    if p == 1:
        return _multiply(input, _zero(input), inplace)
    _check_input(input, per_feature)
    kept = NOISE(input, p=p, per_feature=per_feature)
    result: Tensor = apply_inplace(DROP, input, kept, p=p) if inplace else DROP(input, kept, p=p)
    return result


def _alpha_dropout(
    input: Tensor, p: float, train: bool, inplace: bool, per_feature: bool
) -> Tensor:
    if p == 0 or not train or not input._array.size:
        return input
    if p == 1:
        return _multiply(input, _zero(input), inplace)
    _check_input(input, per_feature)
    factor, offset = ALPHA_NOISE(input, p=p, per_feature=per_feature)
    result = _multiply(input, factor, inplace)
    return apply_inplace(OPS["add"], result, offset) if inplace else result + offset


def check_probability(p: float) -> None:
    """Refuse what is not a probability, with the exception that `torch.dropout` raises."""
    _check(p, RuntimeError)


def _check(p: float, error: type[Exception] = ValueError) -> None:
    if not 0 <= p <= 1:
        error = error if p == p else RuntimeError
        raise error(
            f"dropout probability has to be between 0 and 1, but got {p}" + errors.at_user_line()
        )


# -- nn.functional -------------------------------------------------------------------------


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Elements set to 0 with probability `p`; the rest scaled by `1 / (1 - p)`.

    Args:
        p: how likely an element becomes 0
        training: False returns the input
        inplace: overwrite `input`

    Example:
        >>> _ = clew.manual_seed(0)
        >>> F.dropout(clew.ones(6))
        tensor([0., 0., 2., 0., 0., 0.])
    """
    _check(p)
    return _dropout(input, p, training, inplace, per_feature=False)


@explained
def alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """Dropout that keeps the mean and variance of selu's outputs.

    Args:
        p: how likely an element is dropped, which gives it selu's lowest value
        training: False returns the input
        inplace: overwrite `input`

    Example:
        >>> _ = clew.manual_seed(0)
        >>> F.alpha_dropout(clew.zeros(4), training=True)
        tensor([-0.7792, -0.7792,  0.7792, -0.7792])
    """
    _check(p)
    return _alpha_dropout(input, p, training, inplace, per_feature=False)


@explained
def feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """`alpha_dropout` of whole channels.

    Args:
        input: (N, C, ...)
        p: how likely a channel is dropped
        training: False returns the input
        inplace: overwrite `input`

    Example:
        >>> _ = clew.manual_seed(0)
        >>> F.feature_alpha_dropout(clew.zeros(1, 2, 3), training=True)
        tensor([[[-0.7792, -0.7792, -0.7792],
                 [-0.7792, -0.7792, -0.7792]]])
    """
    _check(p)
    return _alpha_dropout(input, p, training, inplace, per_feature=True)


def dropout1d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Dropout of whole channels of (N, C, L) or (C, L).

    Args:
        p: how likely a channel becomes 0
        training: False returns the input
        inplace: overwrite `input`

    Example:
        >>> _ = clew.manual_seed(0)
        >>> F.dropout1d(clew.ones(3, 2))
        tensor([[0., 0.],
                [0., 0.],
                [2., 2.]])
    """
    _check(p)
    ndim = input._array.ndim
    if ndim not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {ndim}D input. Note that "
            "dropout1d exists to provide channel-wise dropout on inputs with 1 spatial dimension, "
            "a channel dimension, and an optional batch dimension (i.e. 2D or 3D inputs)."
            + errors.at_user_line()
        )
    return _channels(input, p, training, inplace, batched=ndim == 3)


def dropout2d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Dropout of whole channels of (N, C, H, W).

    Args:
        p: how likely a channel becomes 0
        training: False returns the input
        inplace: overwrite `input`

    Example:
        >>> _ = clew.manual_seed(0)
        >>> F.dropout2d(clew.ones(1, 3, 1, 2)).flatten(1)
        tensor([[0., 0., 0., 0., 2., 2.]])
    """
    _check(p)
    _warn_dimensions("dropout2d", input._array.ndim, 2)
    if input._array.ndim == 3:
        warnings.warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout "
            "behavior is desired - input is interpreted as shape (N, C, L), where C is the channel "
            "dim. This behavior will change in a future release to interpret the input as one "
            "without a batch dimension, i.e. shape (C, H, W). To maintain the 1D channel-wise "
            "dropout behavior, please switch to using dropout1d instead.",
            stacklevel=user_stacklevel(),
        )
    return _dropout(input, p, training, inplace, per_feature=True)


def dropout3d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Dropout of whole channels of (N, C, D, H, W) or (C, D, H, W).

    Args:
        p: how likely a channel becomes 0
        training: False returns the input
        inplace: overwrite `input`

    Example:
        >>> _ = clew.manual_seed(0)
        >>> F.dropout3d(clew.ones(1, 3, 1, 1, 2)).flatten(1)
        tensor([[0., 0., 0., 0., 2., 2.]])
    """
    _check(p)
    ndim = input._array.ndim
    _warn_dimensions("dropout3d", ndim, 3)
    return _channels(input, p, training, inplace, batched=ndim == 5)


def _channels(input: Tensor, p: float, training: bool, inplace: bool, batched: bool) -> Tensor:
    if batched:
        return _dropout(input, p, training, inplace, per_feature=True)
    one = input.unsqueeze_(0) if inplace else input.unsqueeze(0)
    result = _dropout(one, p, training, inplace, per_feature=True)
    return result.squeeze_(0) if inplace else result.squeeze(0)


def _warn_dimensions(name: str, ndim: int, spatial: int) -> None:
    if ndim in (spatial + 1, spatial + 2):
        return
    warnings.warn(
        f"{name}: Received a {ndim}-D input to {name}, which is deprecated and will result in an "
        "error in a future release. To retain the behavior and silence this warning, please use "
        f"dropout instead. Note that {name} exists to provide channel-wise dropout on inputs with "
        f"{spatial} spatial dimensions, a channel dimension, and an optional batch dimension (i.e. "
        f"{spatial + 1}D or {spatial + 2}D inputs).",
        stacklevel=user_stacklevel(),
    )


# -- the torch namespace -------------------------------------------------------------------


@public(method=False, out=False, name="dropout")
def _torch_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    _check(p, RuntimeError)
    return _dropout(input, p, train, False, per_feature=False)


@public(method=False, out=False)
def dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """`dropout` in place."""
    _check(p, RuntimeError)
    return _dropout(input, p, train, True, per_feature=False)


@public(method=False, out=False)
def feature_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Dropout of whole channels."""
    _check(p, RuntimeError)
    return _dropout(input, p, train, False, per_feature=True)


@public(method=False, out=False)
def feature_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """`feature_dropout` in place."""
    _check(p, RuntimeError)
    return _dropout(input, p, train, True, per_feature=True)


@public(method=False, out=False, name="alpha_dropout")
def _torch_alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    _check(p, RuntimeError)
    return _alpha_dropout(input, p, train, False, per_feature=False)


@public(method=False, out=False, name="feature_alpha_dropout")
def _torch_feature_alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    _check(p, RuntimeError)
    return _alpha_dropout(input, p, train, False, per_feature=True)


@public(method=False, out=False)
def alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """`alpha_dropout` in place."""
    _check(p, RuntimeError)
    return _alpha_dropout(input, p, train, True, per_feature=False)


@public(method=False, out=False)
def feature_alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """`feature_alpha_dropout` in place."""
    _check(p, RuntimeError)
    return _alpha_dropout(input, p, train, True, per_feature=True)
