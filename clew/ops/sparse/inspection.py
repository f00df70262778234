"""What a sparse tensor says about itself, its parts, and its copies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.backend import layout as layouts
from clew.core.inplace import check_leaf
from clew.core.state import local
from clew.core.tensor import Tensor, wrap
from clew.core.unstrided import LayoutOp, could_not_run
from clew.ops.define.options import read_dtype
from clew.ops.sparse.construction import check_indices, empty_of
from clew.ops.sparse.conversion import to_sparse, zeros_like
from clew.ops.sparse.core_ops import VALUES
from clew.ops.sparse.tensor import (
    BLOCKED,
    BY_ROW,
    COMPRESSED,
    COO,
    CSR,
    RULES,
    backend_of,
    coo,
    dense_dims,
    expected,
    is_coo,
    is_sparse,
    layout_of,
    like,
    nnz,
    of_parts,
    rule,
    sparse_dims,
    title_of,
)
from clew.ops.tensor.conversion import read_target

# -- parts -----------------------------------------------------------------------------------------


def _uncoalesced(what: str) -> RuntimeError:
    return RuntimeError(
        f"Cannot get {what} on an uncoalesced tensor, please call .coalesce() first"
        + errors.at_user_line()
    )


@rule("indices")
def indices(self: Tensor) -> Tensor:
    """The indices of a coalesced COO tensor: a row for each sparse dimension."""
    if not is_coo(self):
        raise expected(self, "indices", "sparse coordinate")
    if not self._is_merged:
        raise _uncoalesced("indices")
    return self._parts[0].detach()


@rule("values")
def values(self: Tensor) -> Tensor:
    """The listed elements of a sparse tensor; gradients flow through them."""
    if not is_sparse(self):
        raise expected(self, "values", "sparse")
    if self._kind is COO and not self._is_merged:
        raise _uncoalesced("values")
    result: Tensor = VALUES(self)
    return result


def _compressed_part(name: str, index: int, by_row: bool) -> None:
    what = f"sparse {'row' if by_row else 'column'} compressed"

    def read(self: Tensor) -> Tensor:
        if self._kind not in COMPRESSED or (self._kind in BY_ROW) != by_row:
            raise expected(self, name, what)
        return self._parts[index].detach()

    RULES[name] = read


_compressed_part("crow_indices", 0, True)
_compressed_part("col_indices", 1, True)
_compressed_part("ccol_indices", 0, False)
_compressed_part("row_indices", 1, False)


@rule("is_coalesced")
def is_coalesced(self: Tensor) -> bool:
    """Whether no index of a COO tensor occurs twice, and they are in order."""
    if not is_coo(self):
        raise expected(self, "is_coalesced", "sparse coordinate")
    return self._is_merged


@rule("sparse_dim")
def sparse_dim(self: Tensor) -> int:
    """How many dimensions are sparse."""
    return sparse_dims(self)


@rule("dense_dim")
def dense_dim(self: Tensor) -> int:
    """How many dimensions are dense: those of each value."""
    return dense_dims(self)


RULES["layout"] = layout_of
RULES["is_sparse"] = is_coo
RULES["is_sparse_csr"] = lambda self: self._kind is CSR


# -- what it does not have -------------------------------------------------------------------------


def _refuse(*names: str, **texts: Any) -> None:
    """Errors of functions that no sparse tensor, or none of a layout, has."""
    coo_error, compressed_error = texts["coo"], texts["compressed"]

    def make(name: str) -> Callable[..., Any]:
        def refuse(self: Tensor, *args: Any, **kwargs: Any) -> Any:
            kind, text = coo_error if is_coo(self) else compressed_error
            if callable(text):
                return text(self)
            raise kind(text.format(layout=title_of(self)) + errors.at_user_line())

        return refuse

    for name in names:
        RULES[name] = make(name)


def _csr(what: str) -> tuple[Any, str]:
    return RuntimeError, f"Sparse CSR tensors do not have {what}"


_NO_POINTER = (RuntimeError, "Cannot access data pointer of Tensor that doesn't have storage")
_NO_NUMPY = (
    TypeError, "can't convert {layout} layout tensor to numpy. Use Tensor.to_dense() first."
)  # fmt: skip
_refuse("numpy", "__array__", coo=_NO_NUMPY, compressed=_NO_NUMPY)
_refuse("data_ptr", "tolist", coo=_NO_POINTER, compressed=_NO_POINTER)
_refuse(
    "storage", "untyped_storage", "_typed_storage", "share_memory_", "is_shared",
    coo=(NotImplementedError, "Cannot access storage of SparseTensorImpl"),
    compressed=(NotImplementedError, "Cannot access storage of SparseCsrTensorImpl"),
)  # fmt: skip
_refuse("stride", coo=(None, lambda self: (0,) * self.ndim), compressed=_csr("strides"))
_refuse("is_contiguous", coo=(None, lambda self: False), compressed=_csr("is_contiguous"))
_refuse(
    "contiguous", "ravel",
    coo=(RuntimeError, "unsupported memory format option Contiguous"),
    compressed=_csr("is_contiguous"),
)  # fmt: skip
_refuse(
    "reshape", "flatten",
    coo=(RuntimeError, "reshape is not implemented for sparse tensors"),
    compressed=_csr("is_contiguous"),
)  # fmt: skip
_refuse(
    "expand", "repeat", "tile", "broadcast_to",
    coo=(RuntimeError, "expand is unsupported for {layout} tensors"),
    compressed=(RuntimeError, "expand is unsupported for {layout} tensors"),
)  # fmt: skip
RULES["storage_offset"] = lambda self: 0


@rule("nbytes")
def nbytes(self: Tensor) -> int:
    """PyTorch counts a compressed tensor as if it were strided."""
    if is_coo(self):
        raise RuntimeError(
            "nbytes is not defined for sparse tensors.  If you want the size of the constituent "
            "tensors, add the nbytes of the indices and values.  If you want the size of the  "
            "equivalent dense tensor, multiply numel() by element_size()" + errors.at_user_line()
        )
    return int(self._layout.size * self._layout.itemsize)


@rule("__bool__")
def truth(self: Tensor) -> bool:
    """Whether the one element is not zero."""
    if self._layout.size != 1:
        raise RuntimeError(
            "Boolean value of Tensor with more than one value is ambiguous" + errors.at_user_line()
        )
    return bool(item(self))


@rule("item", "__float__", "__int__")
def item(self: Tensor) -> Any:
    """The one element of a tensor with one."""
    if self._layout.size != 1:
        raise RuntimeError(
            f"a Tensor with {self._layout.size} elements cannot be converted to Scalar"
            + errors.at_user_line()
        )
    return self.to_dense().item()


# -- copies ----------------------------------------------------------------------------------------


def _copied(self: Tensor) -> Tensor:
    parts = tuple(wrap(part._array.copy()) for part in self._parts)
    return of_parts(self._kind, parts, self._layout.shape, self._is_merged)


def _cast(self: Tensor, *, dtype: dtypes.dtype) -> Tensor:
    return like(self, self._parts[-1].to(dtype))


CLONE = LayoutOp(
    "sparse_clone", lambda self: _copied(self), grads={"self": lambda g: g}, node="CloneBackward0"
)
CAST = LayoutOp(
    "sparse_to_copy", _cast, grads={"self": lambda g, self_dtype: g.to(self_dtype)},
    node="ToCopyBackward0",
)  # fmt: skip


@rule("clone")
def clone(self: Tensor, *, memory_format: Any = None) -> Tensor:
    """A copy of all parts."""
    result: Tensor = CLONE(self)
    return result


def rebuild(kind: Any, parts: tuple[Tensor, ...], shape: Any, merged: bool, leaf: bool) -> Tensor:
    """A sparse tensor out of a pickle."""
    result = of_parts(kind, parts, tuple(shape), merged)
    result._requires_grad = leaf
    return result


@rule("__reduce_ex__")
def reduce(self: Tensor, protocol: int) -> Any:
    """What a pickle has of a sparse tensor."""
    shape = tuple(self._layout.shape)
    return rebuild, (self._kind, self._parts, shape, self._is_merged, self.requires_grad)


@rule("to")
def to(
    self: Tensor,
    *args: Any,
    device: Any = None,
    dtype: Any = None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """A tensor of another dtype."""
    if args and isinstance(args[0], Tensor):
        args = (args[0].dtype, *args[1:])
    _, dtype, _ = read_target(args, device, dtype)
    return as_dtype(self, dtype or self.dtype, copy)


def as_dtype(self: Tensor, dtype: dtypes.dtype, copy: bool = False) -> Tensor:
    """The tensor itself, if it has the dtype."""
    if dtype is self.dtype:
        return clone(self) if copy else self
    result: Tensor = CAST(self, dtype=dtype)
    return result


for _name, _dtype in {
    "float": dtypes.float32, "double": dtypes.float64, "half": dtypes.float16,
    "bfloat16": dtypes.bfloat16, "int": dtypes.int32, "long": dtypes.int64, "short": dtypes.int16,
    "char": dtypes.int8, "byte": dtypes.uint8, "bool": dtypes.bool_, "cfloat": dtypes.complex64,
    "cdouble": dtypes.complex128,
}.items():  # fmt: skip
    RULES[_name] = lambda self, memory_format=None, dtype=_dtype: as_dtype(self, dtype)
RULES["cpu"] = lambda self, memory_format=None: self
RULES["type_as"] = lambda self, other: as_dtype(self, other.dtype)
RULES["data"] = lambda self: self.detached()


@rule("type")
def type_(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The name of PyTorch's old class of such tensors, or a conversion."""
    if dtype is not None:
        return as_dtype(self, dtype)
    if self._kind is not COO:
        raise RuntimeError("Unimplemented backend SparseCsrCPU" + errors.at_user_line())
    return f"torch.sparse.{self.dtype.scalar_name}Tensor"


@rule("zeros_like", "empty_like")
def all_zero(input: Tensor, *, dtype: Any = None, layout: Any = None, **options: Any) -> Tensor:
    """A tensor of zeros, of the same layout unless told otherwise."""
    kind = layout or layout_of(input)
    wanted = read_dtype("zeros_like", dtype) or input.dtype
    if kind is layouts.strided:
        return wrap(np.zeros(input._layout.shape, wanted.np))
    made: Tensor
    if kind is COO and is_coo(input):
        made = as_dtype(zeros_like(input), wanted)
    else:
        made = empty_of(kind, input._layout.shape, wanted.np)
    if options.get("requires_grad"):
        made.requires_grad_()
    return made


@rule("ones_like", "full_like")
def all_same(input: Tensor, fill_value: Any = 1, **options: Any) -> Tensor:
    """The listed elements all one number; a COO tensor refuses."""
    if is_coo(input):
        raise could_not_run("fill_.Scalar", "SparseCPU")
    return like(input, wrap(np.full_like(input._parts[-1]._array, fill_value)))


@rule("new_zeros", "new_empty")
def new_zeros(self: Tensor, *size: Any, dtype: Any = None, **options: Any) -> Tensor:
    """A tensor of zeros of another size in the same layout."""
    given = size[0] if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
    kind = read_dtype("new_zeros", dtype) or self.dtype
    return empty_of(options.get("layout") or self._kind, tuple(given), kind.np)


# -- changes in place ------------------------------------------------------------------------------


def check_target(self: Tensor, writer: str) -> None:
    """Refuse to write to a leaf that requires grad."""
    if local.state.grad_enabled and self.requires_grad:
        check_leaf(self, writer)


def write(self: Tensor, result: Tensor, writer: str) -> Tensor:
    """Let a tensor become a result, with its history."""
    check_target(self, writer)
    if result.dtype is not self.dtype:
        if not dtypes.can_cast(result.dtype, self.dtype):
            raise errors.in_place_dtype(result.dtype.scalar_name, self.dtype.scalar_name)
        result = as_dtype(result, self.dtype)
    if not is_sparse(result):
        result = to_sparse(result, layout=layout_of(self))
    self.take_parts(result, writer)
    self._node, self._output_nr = result._node, result._output_nr
    self._requires_grad = result._requires_grad
    return self


@rule("copy_")
def copy_(self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    """Take over another tensor's elements."""
    if not is_sparse(src) or not is_sparse(self):
        kinds = [each.type() for each in (self, src)]
        raise RuntimeError(
            "copy_() between dense and sparse Tensors is not implemented! Found self type = "
            f"{kinds[0]} and src type = {kinds[1]}" + errors.at_user_line()
        )
    if src._kind is not self._kind:
        raise RuntimeError(
            f"copy_() between tensors of layouts {title_of(self)} and {title_of(src)} is not "
            "implemented" + errors.at_user_line()
        )
    return write(self, clone(src), "copy_")


@rule("zero_")
def zero_(self: Tensor) -> Tensor:
    """Forget all elements."""
    return write(self, all_zero(self), "zero_")


@rule("fill_")
def fill_(self: Tensor, value: Any) -> Tensor:
    """Make all listed elements one number; a COO tensor refuses."""
    return write(self, all_same(self, value), "fill_")


@rule("sparse_resize_")
def sparse_resize_(self: Tensor, size: Any, sparse_dim: int, dense_dim: int) -> Tensor:
    """Change the size, keeping the listed elements."""
    if not is_coo(self):
        raise could_not_run("sparse_resize_", backend_of((self,)) if is_sparse(self) else "CPU")
    shape = tuple(size)
    if len(shape) != sparse_dim + dense_dim:
        raise RuntimeError(
            f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(shape)}, "
            f"sparse_dim = {sparse_dim}, dense_dim = {dense_dim}" + errors.at_user_line()
        )
    if not nnz(self):
        return write(self, coo(
            np.zeros((sparse_dim, 0), np.int64),
            wrap(np.zeros((0, *shape[sparse_dim:]), self._layout.dtype)), shape, True,
        ), "sparse_resize_")  # fmt: skip
    if sparse_dim != sparse_dims(self) or dense_dim != dense_dims(self):
        raise RuntimeError(
            "changing the number of sparse or dense dimensions on a non-empty sparse tensor is not "
            "supported." + errors.at_user_line()
        )
    check_indices(self._parts[0]._array, shape)
    listed = self._parts[1]._array
    grown = np.zeros((len(listed), *shape[sparse_dim:]), listed.dtype)
    grown[tuple(slice(n) for n in listed.shape)] = listed
    result = coo(self._parts[0], wrap(grown), shape, self._is_merged)
    return write(self, result, "sparse_resize_")


@rule("sparse_resize_and_clear_")
def sparse_resize_and_clear_(self: Tensor, size: Any, sparse_dim: int, dense_dim: int) -> Tensor:
    """Change the size and forget all elements."""
    self.zero_()
    return sparse_resize_(self, size, sparse_dim, dense_dim)


RULES["to_sparse"] = to_sparse
RULES["to_sparse_coo"] = to_sparse


def _to_layout(kind: Any) -> Callable[..., Tensor]:
    if kind in BLOCKED:
        return lambda self, blocksize, dense_dim=None: to_sparse(
            self, layout=kind, blocksize=blocksize, dense_dim=dense_dim
        )
    return lambda self, dense_dim=None: to_sparse(self, layout=kind, dense_dim=dense_dim)


for _kind in COMPRESSED:
    RULES[f"to_{_kind.name}"] = _to_layout(_kind)
