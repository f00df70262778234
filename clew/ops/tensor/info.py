"""What a tensor says about itself: sizes, strides, storage, flags."""

from __future__ import annotations

from typing import Any

from clew import errors
from clew.backend import dtypes, layout
from clew.backend.device import CPU
from clew.core.mirror import bits_of, memory_behind
from clew.core.public import methods, public
from clew.core.tensor import Tensor
from clew.ops.define import memory_layout
from clew.ops.define.dims import wrap_dim
from clew.ops.tensor.legacy_storages import LEGACY_CLASSES
from clew.ops.tensor.typed_storage import TypedStorage, typed, warn_of_removal
from clew.ops.tensor.untyped_storage import UntypedStorage, storage_of


def size(self: Tensor, dim: int | None = None) -> Any:
    """The shape, or the length of one dimension."""
    shape = self._array.shape
    if dim is None:
        return self.shape
    if not shape:
        raise (
            errors.dimension_out_of_range(dim, 0)
            if not -1 <= dim <= 0
            else IndexError(
                f"Dimension specified as {dim} but tensor has no dimensions" + errors.at_user_line()
            )
        )
    return shape[wrap_dim(dim, len(shape))]


def stride(self: Tensor, dim: int | None = None) -> Any:
    """How many elements lie between neighbours, in all dimensions or in one."""
    strides = memory_layout.strides_in_elements(self._array)
    return strides if dim is None else strides[wrap_dim(dim, len(strides))]


def dim(self: Tensor) -> int:
    """The number of dimensions."""
    return self._array.ndim


@public(aliases=(), out=False)
def numel(input: Tensor) -> int:
    """The number of elements."""
    if not isinstance(input, Tensor):
        raise errors.wrong_argument("numel", "input", 1, "Tensor", input)
    return input._array.size


def element_size(self: Tensor) -> int:
    """The bytes of one element."""
    return self._array.itemsize


def storage_offset(self: Tensor) -> int:
    """How many elements into its storage the tensor begins."""
    array = memory_behind(self._array)
    return (
        memory_layout.address(array) - memory_layout.address(memory_layout.owner_of(array))
    ) // array.itemsize


def data_ptr(self: Tensor) -> int:
    """The address of the first element; 0 when there is none."""
    return memory_layout.address(memory_behind(self._array)) if self._array.size else 0


def is_contiguous(
    self: Tensor, memory_format: layout.memory_format = layout.contiguous_format
) -> bool:
    """Whether the elements lie in memory in the order of their indices."""
    return memory_layout.is_contiguous_in(self._array, memory_format)


methods(
    size=size, stride=stride, dim=dim, ndimension=dim, nelement=numel,
    element_size=element_size, storage_offset=storage_offset, data_ptr=data_ptr,
    is_contiguous=is_contiguous,
    itemsize=property(element_size), nbytes=property(lambda self: self._array.nbytes),
)  # fmt: skip


# -- kinds -----------------------------------------------------------------------------------


def _dtype_of(function: str, input: Any) -> dtypes.dtype:
    if not isinstance(input, Tensor):
        raise errors.wrong_argument(function, "input", 1, "Tensor", input)
    return input.dtype


@public(out=False)
def is_floating_point(input: Tensor) -> bool:
    """Whether the dtype is a real floating-point one."""
    return _dtype_of("is_floating_point", input).is_floating_point


@public(out=False)
def is_complex(input: Tensor) -> bool:
    """Whether the dtype is complex."""
    return _dtype_of("is_complex", input).is_complex


@public(out=False)
def is_signed(input: Tensor) -> bool:
    """Whether the dtype has negative numbers."""
    return _dtype_of("is_signed", input).is_signed


@public(out=False)
def is_nonzero(input: Tensor) -> bool:
    """Whether the only element is not zero."""
    return bool(input)


@public(out=False)
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape."""
    return input._array.shape == other._array.shape


def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Whether both are the same piece of memory, seen alike."""
    mine, other = self._array, tensor._array
    return (
        mine.shape == other.shape
        and mine.strides == other.strides
        and memory_layout.address(mine) == memory_layout.address(other)
        and not bits_of(mine)
    )


@public(method=False, out=False)
def is_tensor(obj: Any) -> bool:
    """Whether an object is a tensor."""
    return isinstance(obj, Tensor)


@public(method=False, out=False)
def is_storage(obj: Any) -> bool:
    """Whether an object is what `untyped_storage()` or `storage()` returns."""
    return isinstance(obj, UntypedStorage | TypedStorage)


@public(method=False, out=False)
def typename(obj: Any) -> str:
    """The legacy name of a tensor's type, or the full name of any other object's type."""
    if isinstance(obj, Tensor):
        return f"torch.{obj.dtype.scalar_name}Tensor"
    kind = obj if isinstance(obj, type) else type(obj)
    return (
        kind.__qualname__
        if kind.__module__ == "builtins"
        else (f"{kind.__module__}.{kind.__qualname__}")
    )


@public(method=False, out=False)
def result_type(tensor1: Any, tensor2: Any) -> dtypes.dtype:
    """The dtype that arithmetic between two operands would have."""
    promotion = dtypes.Promotion()
    for operand in (tensor1, tensor2):
        if isinstance(operand, Tensor):
            promotion.add_array(operand._array)
        else:
            promotion.add_number(operand)
    return promotion.result()


# -- storage ---------------------------------------------------------------------------------


def untyped_storage(self: Tensor) -> UntypedStorage:
    """The memory, counted in bytes.

    Example:
        >>> clew.ones(3).untyped_storage().nbytes()
        12
    """
    return storage_of(self)


def _typed_storage(self: Tensor) -> TypedStorage:
    """The memory, counted in elements, without a warning."""
    return typed(storage_of(self), self.dtype)


def storage(self: Tensor) -> TypedStorage:
    """The memory, counted in elements. Deprecated: use `untyped_storage`.

    Example:
        >>> import warnings
        >>> warnings.simplefilter("ignore")
        >>> clew.ones(3).storage().size()
        3
    """
    warn_of_removal()
    return _typed_storage(self)


def storage_type(self: Tensor) -> Any:
    """The legacy class of the typed storage.

    Example:
        >>> clew.ones(3).storage_type()
        <class 'torch.FloatStorage'>
    """
    return LEGACY_CLASSES.get(f"{self.dtype.scalar_name}Storage", TypedStorage)


@public(out=False)
def get_device(input: Tensor) -> int:
    """The index of the accelerator: -1, because the tensor is on the CPU."""
    return -1


@public(method=False, out=False)
def is_inference(input: Tensor) -> bool:
    """Whether a tensor was made in inference mode."""
    return input.is_inference()


def dim_order(self: Tensor) -> tuple[int, ...]:
    """The dimensions from outermost to innermost in memory."""
    return memory_layout.memory_order(self._array)


methods(
    is_set_to=is_set_to, untyped_storage=untyped_storage, storage=storage,
    _typed_storage=_typed_storage, storage_type=storage_type, dim_order=dim_order,
    is_pinned=lambda self, device=None: False,
    is_shared=lambda self: storage_of(self).is_shared(),
    device=property(lambda self: CPU),
    layout=property(lambda self: layout.strided),
    **{
        flag: property(lambda self: False)
        for flag in (
            "is_cuda", "is_mps", "is_xpu", "is_meta", "is_sparse", "is_sparse_csr", "is_quantized",
            "is_mkldnn", "is_nested", "is_ipu", "is_xla", "is_vulkan", "is_maia", "is_mtia",
        )
    },
    is_cpu=property(lambda self: True),
)  # fmt: skip
