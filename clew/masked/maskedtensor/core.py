"""`MaskedTensor`: a tensor whose elements may be absent.

It holds two tensors, data and mask, and takes over what is done with it: functions
(`__torch_function__`) where the whole of a reduction must be known, and operations
(`__torch_dispatch__`) elsewhere, so that gradients are masked tensors, too. What is done with which
function or operation is in two tables, which the other modules of this folder fill.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from clew import errors
from clew.autograd.function import Function
from clew.backend import dtypes
from clew.backend.layout import layout as Layout
from clew.backend.layout import sparse_coo, sparse_csr, strided
from clew.core.function_modes import DisableTorchFunctionSubclass
from clew.core.tensor import Tensor
from clew.ops.create.legacy_constructors import _make_wrapper_subclass
from clew.source import user_stacklevel

_PROTOTYPE = (
    "The PyTorch API of MaskedTensors is in prototype stage and will change in the near future. "
    "Please open a Github issue for features requests and see our documentation on the "
    "torch.masked module for further information about the project."
)
_REQUIRES_GRAD = (
    "It is not recommended to create a MaskedTensor with a tensor that requires_grad. To avoid "
    "this, you can use data.detach().clone()"
)
_DTYPES = frozenset({
    dtypes.float16, dtypes.float32, dtypes.float64, dtypes.bool_, dtypes.int8, dtypes.int16,
    dtypes.int32, dtypes.int64,
})  # fmt: skip
_PARTS = {sparse_coo: ("indices",), sparse_csr: ("crow_indices", "col_indices")}

# By function, and by the name of the operation: what masked tensors make of it.
FUNCTIONS: dict[Any, Callable[..., Any]] = {}
OPERATIONS: dict[str, Callable[..., Any]] = {}
# What an operation without an entry is asked: it returns NotImplemented for those it does not know.
OTHERS: list[Callable[..., Any]] = []


class MaskedTensor(Tensor):
    """A tensor with a mask: True for the elements that are there.

    Made by `masked_tensor`, or by `as_masked_tensor` where gradients go on to the data. Elementwise
    operations take the mask along, and masks of two operands must be equal; reductions leave out
    what is masked; views, selections and `cat` do the same to data and mask.

    Args:
        data: strided, COO or CSR
        mask: bool, of the same shape and layout
        requires_grad: whether gradients are wanted

    Example:
        >>> x = clew.masked.masked_tensor(clew.tensor([1., 2., 3.]),
        ...                               clew.tensor([True, False, True]), requires_grad=True)
        >>> x * 2
        MaskedTensor(
          [  2.0000,       --,   6.0000]
        )
        >>> x.pow(2).sum().backward()
        >>> x.grad
        MaskedTensor(
          [  2.0000,       --,   6.0000]
        )
    """

    _masked_data: Tensor
    _masked_mask: Tensor

    @staticmethod
    def __new__(
        cls: type[MaskedTensor], data: Tensor, mask: Tensor, requires_grad: bool = False
    ) -> MaskedTensor:
        for value, name in ((data, "data"), (mask, "mask")):
            if is_masked_tensor(value) or not isinstance(value, Tensor):
                raise TypeError(f"{name} must be a Tensor" + errors.at_user_line())
        warnings.warn(_PROTOTYPE, UserWarning, stacklevel=user_stacklevel())
        if data.requires_grad:
            warnings.warn(_REQUIRES_GRAD, UserWarning, stacklevel=user_stacklevel())
        return cls._wrapper(data, requires_grad)

    def __init__(self, data: Tensor, mask: Tensor, requires_grad: bool = False) -> None:
        _check(data, mask)
        self._masked_data = _own(data)
        self._masked_mask = _own(mask)
        _check_places(self._masked_data, self._masked_mask)

    @classmethod
    def _wrapper(cls, data: Tensor, requires_grad: bool = False) -> MaskedTensor:
        strides = data.stride() if data.layout is strided else None
        made: Any = _make_wrapper_subclass(
            cls, data.shape, strides, dtype=data.dtype, device=data.device,
            requires_grad=requires_grad,
        )  # fmt: skip
        return made

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if kwargs.pop("out", None) is not None:
            raise ValueError(
                "MaskedTensor unary ops require that len(kwargs) == 0: there is no `out=`, which "
                "has no place for a mask" + errors.at_user_line()
            )
        known = FUNCTIONS.get(func)
        if known is not None:
            return known(*args, **kwargs)
        with DisableTorchFunctionSubclass():
            return func(*args, **kwargs)

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        op = getattr(func, "op", None)
        name = getattr(op, "name", None) or func.__name__.partition(".")[0]
        known = OPERATIONS.get(name)
        if known is not None:
            return known(func, args, kwargs or {})
        for other in OTHERS:
            result = other(func, args, kwargs or {})
            if result is not NotImplemented:
                return result
        return NotImplemented

    # -- what it holds ---------------------------------------------------------------------------

    def get_data(self) -> Tensor:
        """The data, those of absent elements as well; gradients go on to this tensor.

        Example:
            >>> mask = clew.tensor([True, False])
            >>> clew.masked.masked_tensor(clew.tensor([1., 2.]), mask).get_data()
            tensor([1., 2.])
        """
        if not self.requires_grad:
            return self._masked_data
        result: Tensor = GetData.apply(self)
        return result

    def get_mask(self) -> Tensor:
        """The mask: True for the elements that are there.

        Example:
            >>> mask = clew.tensor([True, False])
            >>> clew.masked.masked_tensor(clew.tensor([1., 2.]), mask).get_mask()
            tensor([ True, False])
        """
        return self._masked_mask

    def to_tensor(self, value: float) -> Tensor:
        """A plain tensor with a value in place of absent elements.

        Args:
            value: the number

        Example:
            >>> mask = clew.tensor([True, False])
            >>> clew.masked.masked_tensor(clew.tensor([1., 2.]), mask).to_tensor(0)
            tensor([1., 0.])
        """
        return self.get_data().masked_fill(~self.get_mask(), value)

    @property
    def layout(self) -> Layout:
        return self._masked_data.layout

    @property
    def is_sparse(self) -> bool:
        return self.is_sparse_coo() or self.is_sparse_csr()

    def is_sparse_coo(self) -> bool:
        """Whether data and mask are COO tensors.

        Example:
            >>> mask = clew.tensor([True, False])
            >>> clew.masked.masked_tensor(clew.ones(2), mask).is_sparse_coo()
            False
        """
        return self.layout is sparse_coo

    def is_sparse_csr(self) -> bool:
        """Whether data and mask are CSR tensors.

        Example:
            >>> mask = clew.tensor([[True, False]])
            >>> clew.masked.masked_tensor(clew.ones(1, 2), mask).to_sparse_csr().is_sparse_csr()
            True
        """
        return self.layout is sparse_csr

    # -- reads -----------------------------------------------------------------------------------

    def item(self) -> Any:
        """The number of a tensor of one element that is there.

        Example:
            >>> x = clew.masked.masked_tensor(clew.ones(2), clew.tensor([True, False]))
            >>> x.sum().item()
            1.0
        """
        if self._masked_mask.numel() == 1 and not self._masked_mask.item():
            raise ValueError(
                "__torch_dispatch__, aten._local_scalar_dense: expected a mask tensor: the element "
                "is masked" + errors.at_user_line()
            )
        return self._masked_data.item()

    def __bool__(self) -> bool:
        return bool(self.item() if self.numel() == 1 else self._masked_data)

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def numpy(self, *, force: bool = False) -> Any:
        """There is none: NumPy's masked arrays are made of `get_data()` and `get_mask()`.

        Args:
            force: no matter

        Example:
            >>> x = clew.masked.masked_tensor(clew.ones(2), clew.tensor([True, False]))
            >>> import numpy as np
            >>> np.ma.masked_array(x.get_data().numpy(), ~x.get_mask().numpy()).sum()
            np.float32(1.0)
        """
        raise RuntimeError(
            ".numpy() is not supported for tensor subclasses. Take `get_data()`, or "
            "`to_tensor(value)`, first." + errors.at_user_line()
        )

    def tolist(self) -> Any:
        """There is none: a list has no place for a mask.

        Example:
            >>> x = clew.masked.masked_tensor(clew.ones(2), clew.tensor([True, False]))
            >>> x.to_tensor(0).tolist()
            [1.0, 0.0]
        """
        raise RuntimeError(
            ".tolist() is not supported for tensor subclasses, got MaskedTensor. Take "
            "`to_tensor(value)` first." + errors.at_user_line()
        )

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        data, mask = self._masked_data.detach(), self._masked_mask
        if data.layout is not strided:
            data, mask = data.to_dense(), mask.to_dense()
        if not data.ndim:
            there = bool(mask)
            shown = _number(data.item()) if there else "--"
            return f"MaskedTensor({shown}, {there})"
        text = _rows(data.tolist(), mask.tolist(), data.ndim)
        return f"MaskedTensor(\n{_indented(text)}\n)"

    def __format__(self, spec: str) -> str:
        return format(repr(self), spec)


def is_masked_tensor(obj: Any, /) -> bool:
    """Whether something is a `MaskedTensor`.

    Args:
        obj: anything

    Example:
        >>> mask = clew.tensor([True, False])
        >>> clew.masked.is_masked_tensor(clew.masked.masked_tensor(clew.ones(2), mask))
        True
    """
    return isinstance(obj, MaskedTensor)


def made(data: Tensor, mask: Tensor) -> MaskedTensor:
    """A masked tensor of what was computed: nothing is checked or copied."""
    result = MaskedTensor._wrapper(data)
    result._masked_data, result._masked_mask = data, mask
    return result


def data_of(value: Any) -> Any:
    return value._masked_data if isinstance(value, MaskedTensor) else value


def mask_of(value: Any) -> Any:
    return value._masked_mask if isinstance(value, MaskedTensor) else value


# -- autograd --------------------------------------------------------------------------------------


class GetData(Function):
    """From a masked tensor to its data; the gradient gets the mask."""

    @staticmethod
    def forward(ctx: Any, tensor: MaskedTensor) -> Tensor:
        ctx.mask = tensor._masked_mask
        return tensor._masked_data.detach()

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad if is_masked_tensor(grad) else made(grad, ctx.mask)


class Constructor(Function):
    """From data to a masked tensor; the gradient stays masked."""

    @staticmethod
    def forward(ctx: Any, data: Tensor, mask: Tensor) -> MaskedTensor:
        return made(_own(data), mask)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad, None


class ConstructorOfResult(Constructor):
    """From what was computed of data to a masked tensor; the gradient is that of the data."""

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return data_of(grad), None


# -- checks ----------------------------------------------------------------------------------------


def _check(data: Tensor, mask: Tensor) -> None:
    if data.layout is not mask.layout:
        raise TypeError("data and mask must have the same layout." + errors.at_user_line())
    if data.layout is not strided and data.layout not in _PARTS:
        raise TypeError(f"data layout of {data.layout} is not supported." + errors.at_user_line())
    if mask.dtype is not dtypes.bool_:
        raise TypeError("mask must have dtype bool." + errors.at_user_line())
    if data.dtype not in _DTYPES:
        raise TypeError(f"{data.dtype} is not supported in MaskedTensor." + errors.at_user_line())
    if data.ndim != mask.ndim:
        raise ValueError(
            f"data.dim() must equal mask.dim(): they are {data.ndim} and {mask.ndim}"
            + errors.at_user_line()
        )
    if data.shape != mask.shape:
        raise ValueError(
            f"data.size() must equal mask.size(): they are {data.shape} and {mask.shape}"
            + errors.at_user_line()
        )


def _own(tensor: Tensor) -> Tensor:
    tensor = tensor.detach()
    return tensor.coalesce() if tensor.layout is sparse_coo else tensor.clone()


def _check_places(data: Tensor, mask: Tensor) -> None:
    """Sparse data and masks have elements at the same places."""
    for part in _PARTS.get(data.layout, ()):
        if not getattr(data, part)().equal(getattr(mask, part)()):
            kind = "COO" if data.layout is sparse_coo else "CSR"
            raise ValueError(
                f"data and mask are both sparse {kind} tensors but do not have the same {part}."
                + errors.at_user_line()
            )


# -- text ------------------------------------------------------------------------------------------


def _number(value: Any) -> str:
    return f"{value:8.4f}" if isinstance(value, float) else str(value)


def _rows(data: list[Any], mask: list[Any], ndim: int) -> str:
    if ndim == 1:
        shown = [_number(x) if there else "      --" for x, there in zip(data, mask, strict=True)]
        return f"[{', '.join(shown)}]"
    rows = [_rows(*pair, ndim - 1) for pair in zip(data, mask, strict=True)]
    return "[\n" + ",\n".join(map(_indented, rows)) + "\n]"


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.split("\n"))
