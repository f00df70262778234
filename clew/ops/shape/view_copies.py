"""transpose_copy, view_copy, ...: what views show, in memory of its own."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from inspect import unwrap
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.backend.layout import contiguous_format
from clew.core.arguments import typed
from clew.core.op import Op
from clew.core.public import FUNCTIONS, deliver, out_doc, public
from clew.core.tensor import Tensor
from clew.ops.define.out_checks import EXACT_OUT, input_dtype
from clew.ops.define.rows import out_form
from clew.ops.tensor.copying import clone

View = Callable[..., Any]

# Copies of several pieces, and what PyTorch calls them where it counts the tensors of `out=`.
_MANY_OUT = {
    "split": "split_copy_Tensor_out()",
    "split_with_sizes": "split_with_sizes_copy_out",
    "unbind": "unbind_copy_int_out",
}

# Stands for all dimensions: None is refused.
_EVERY: Any = object()

_DOC = """`{view}`, but the result has memory of its own instead of sharing that of `input`.

Args:
    input: the tensor
{arguments}
Example:
    >>> clew.{name}({call})
    {result}
"""

_WORDS = {
    "dim": "the dimension",
    "dim0": "one dimension",
    "dim1": "the other dimension",
    "dims": "the dimensions, in their new order",
    "size": "the shape of the result",
    "stride": "its strides, in elements",
    "storage_offset": "where it begins in the memory, in elements",
    "index": "the position along `dim`",
    "split_size": "the size of the pieces along `dim`",
    "split_sizes": "the sizes of the pieces along `dim`",
    "dtype": "instead of `size`: how to read the bits",
    "implicit": "ignored",
    "start": "where the slice begins",
    "end": "where it ends",
    "step": "how far apart its elements are, or its windows",
    "dimension": "the dimension that windows lie along",
    "offset": "which diagonal: above the main one if positive",
    "dim2": "the second dimension",
}


def _slice(
    input: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    dim = dim % (input._array.ndim or 1)
    return input[(slice(None),) * dim + (slice(start, end, step),)]


def _view(input: Tensor, size: Any = None, *, dtype: Any = None) -> Tensor:
    given = dtype if size is None else size
    return input.view(given) if isinstance(given, dtypes.dtype) else input.reshape(given)


def _split(input: Tensor, split_size: int, dim: int = 0) -> tuple[Tensor, ...]:
    return FUNCTIONS["split"](input, split_size, dim)


def _expand(input: Tensor, size: Any, *, implicit: bool = False) -> Tensor:
    return input.expand(size)


def _permute(input: Tensor, dims: Any) -> Tensor:
    return input.permute(dims)


def _squeeze(input: Tensor, dim: Any = _EVERY) -> Tensor:
    if dim is None:
        raise TypeError(
            "squeeze_copy() received an invalid combination of arguments - got (Tensor, NoneType)"
            + errors.at_user_line()
        )
    return input.squeeze() if dim is _EVERY else input.squeeze(dim)


def _unfold(input: Tensor, dimension: int, size: int, step: int) -> Tensor:
    return input.unfold(dimension, size, step)


def _alias(input: Tensor) -> Tensor:
    return input


def _copied(result: Any) -> Any:
    if isinstance(result, Tensor):
        return clone(result, memory_format=contiguous_format)
    return tuple(clone(each, memory_format=contiguous_format) for each in result)


def _many_out(implementation: View, overload: str) -> View:
    """The same function with an `out=` argument: one tensor for each piece, and no result."""

    @functools.wraps(implementation)
    def function(*args: Any, out: Sequence[Tensor] | None = None, **kwargs: Any) -> Any:
        pieces = implementation(*args, **kwargs)
        if out is None:
            return pieces
        name = implementation.__name__
        if not isinstance(out, (tuple, list)):
            raise errors.wrong_argument(name, "out", None, "tuple of Tensors", out)
        if len(out) != len(pieces):
            raise RuntimeError(
                f"{overload} expected an out= argument of size {len(pieces)}, got size {len(out)}"
                + errors.at_user_line()
            )
        if name != "split_copy":
            for piece, target in zip(pieces, out, strict=True):
                input_dtype(may_alias=True)((piece,), {}, target)
            for piece, target in zip(pieces, out, strict=True):
                deliver(piece, target, name)
        else:
            for piece, target in zip(pieces, out, strict=True):
                target.copy_(piece)
        return None

    function.__doc__ = out_doc(implementation.__doc__)
    return function


def _copying(view: View, name: str, call: str, result: str) -> None:
    """Define `clew.<name>_copy`."""

    @functools.wraps(view)
    def function(*args: Any, **kwargs: Any) -> Any:
        return _copied(view(*args, **kwargs))

    copy = function.__name__ = function.__qualname__ = f"{name}_copy"
    code = unwrap(view).__code__
    names = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    arguments = "".join(f"    {each}: {_WORDS[each]}\n" for each in names)
    function.__doc__ = _DOC.format(
        view=name, name=copy, arguments=arguments, call=call, result=result
    )
    if name in _MANY_OUT:
        FUNCTIONS[copy] = _many_out(typed(function), _MANY_OUT[name])
    else:
        # Inputs with history are no obstacle to `out=`, which then has it.
        FUNCTIONS[copy] = out_form(typed(function), EXACT_OUT, differentiable=None)


_PAIRS = "clew.tensor([[1, 2], [3, 4]])"
_ROWS = "tensor([[1, 3],\n            [2, 4]])"

for _name, _of, _call, _result in (
    ("alias", _alias, "clew.tensor([1, 2])", "tensor([1, 2])"),
    ("as_strided", FUNCTIONS["as_strided"], f"{_PAIRS}, (2,), (3,)", "tensor([1, 4])"),
    ("diagonal", FUNCTIONS["diagonal"], _PAIRS, "tensor([1, 4])"),
    (
        "expand", _expand, "clew.tensor([1, 2]), (2, 2)",
        "tensor([[1, 2],\n            [1, 2]])",
    ),
    ("permute", _permute, f"{_PAIRS}, (1, 0)", _ROWS),
    ("select", FUNCTIONS["select"], f"{_PAIRS}, 0, 1", "tensor([3, 4])"),
    ("slice", _slice, f"{_PAIRS}, 1, 0, 1", "tensor([[1],\n            [3]])"),
    ("split", _split, "clew.tensor([1, 2, 3]), 2", "(tensor([1, 2]), tensor([3]))"),
    (
        "split_with_sizes", FUNCTIONS["split_with_sizes"], "clew.tensor([1, 2, 3]), [1, 2]",
        "(tensor([1]), tensor([2, 3]))",
    ),
    ("squeeze", _squeeze, "clew.tensor([[1, 2]])", "tensor([1, 2])"),
    ("t", FUNCTIONS["t"], _PAIRS, _ROWS),
    ("transpose", FUNCTIONS["transpose"], f"{_PAIRS}, 0, 1", _ROWS),
    ("unbind", FUNCTIONS["unbind"], _PAIRS, "(tensor([1, 2]), tensor([3, 4]))"),
    (
        "unfold", _unfold, "clew.tensor([1, 2, 3]), 0, 2, 1",
        "tensor([[1, 2],\n            [2, 3]])",
    ),
    ("unsqueeze", FUNCTIONS["unsqueeze"], "clew.tensor([1, 2]), 0", "tensor([[1, 2]])"),
    (
        "view_as_complex", FUNCTIONS["view_as_complex"], "clew.tensor([[1., 2.]])",
        "tensor([1.+2.j])",
    ),
    (
        "view_as_real", FUNCTIONS["view_as_real"], "clew.tensor([1 + 2j])",
        "tensor([[1., 2.]])",
    ),
    ("view", _view, f"{_PAIRS}, (4,)", "tensor([1, 2, 3, 4])"),
):  # fmt: skip
    _copying(_of, _name, _call, _result)


# -- detach_copy -----------------------------------------------------------------------------------


def _no_derivative(g: Tensor) -> Tensor:
    raise RuntimeError(
        "derivative for aten::detach_copy is not implemented\n  x.detach().clone() has no history."
        + errors.at_user_line()
    )


DETACH_COPY = Op(
    "detach_copy", lambda self: np.array(self, order="C"), grads={"self": _no_derivative},
    node="NotImplemented",
)  # fmt: skip


@public(method=False, out=input_dtype(may_alias=True), differentiable=False)
def detach_copy(input: Tensor) -> Tensor:
    """A copy that gradients do not pass: backward through it raises, as in PyTorch.

    Args:
        input: the tensor

    Example:
        >>> clew.detach_copy(clew.tensor([1., 2.]))
        tensor([1., 2.])
    """
    return DETACH_COPY(input)
