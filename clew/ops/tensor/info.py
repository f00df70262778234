"""What a tensor says about itself: sizes, strides, storage, flags."""

from __future__ import annotations

from typing import Any

from clew import errors
from clew.backend import dtypes, layout
from clew.backend.device import CPU, META
from clew.backend.device import device as device_type
from clew.core.meta.memory import is_meta
from clew.core.mirror import bits_of, memory_behind
from clew.core.public import methods, public
from clew.core.result_layout import memory_order
from clew.core.tensor import Tensor
from clew.kernels.numpy.strides import owner_of
from clew.kernels.runtime.numpy_capi import address_of
from clew.ops import tensor as parts
from clew.ops.define import memory_layout, vmap_errors
from clew.ops.define.dims import wrap_dim
from clew.ops.tensor.typed_storage import TypedStorage, typed, warn_of_removal
from clew.ops.tensor.untyped_storage import UntypedStorage, storage_of


def size(self: Tensor, dim: int | None = None) -> Any:
    """The shape, or the length of one dimension.

    Args:
        dim: which dimension; None asks for all

    Example:
        >>> x = clew.zeros(2, 3)
        >>> x.size(), x.size(1)
        (torch.Size([2, 3]), 3)
    """
    shape = self._layout.shape
    if dim is None:
        return self.shape
    if not shape:
        raise (
            errors.dimension_out_of_range(dim, 0)
            if not -1 <= dim <= 0
            else errors.no_dimensions(dim)
        )
    return shape[wrap_dim(dim, len(shape))]


def stride(self: Tensor, dim: int | None = None) -> Any:
    """How many elements lie between neighbours in memory, in all dimensions or in one.

    Args:
        dim: which dimension; None asks for all

    Example:
        >>> x = clew.zeros(2, 3)
        >>> x.stride(), x.t().stride(), x.stride(0)
        ((3, 1), (1, 3), 3)
    """
    strides = memory_layout.strides_in_elements(self._array)
    return strides if dim is None else strides[wrap_dim(dim, len(strides))]


def dim(self: Tensor) -> int:
    """The number of dimensions.

    Example:
        >>> clew.zeros(2, 3).dim()
        2
    """
    return self._layout.ndim


@public(aliases=(), out=False)
def numel(input: Tensor) -> int:
    """The number of elements.

    Args:
        input: a tensor

    Example:
        >>> clew.numel(clew.zeros(2, 3))
        6
    """
    if not isinstance(input, Tensor):
        raise errors.wrong_argument("numel", "input", 1, "Tensor", input)
    return input._layout.size


def element_size(self: Tensor) -> int:
    """The bytes of one element.

    Example:
        >>> clew.tensor(1.).element_size(), clew.tensor(1).element_size()
        (4, 8)
    """
    return self._layout.itemsize


def storage_offset(self: Tensor) -> int:
    """How many elements into its storage the tensor begins.

    Example:
        >>> clew.arange(5)[2:].storage_offset()
        2
    """
    array = memory_behind(self._array)
    return (address_of(array) - address_of(owner_of(array))) // array.itemsize


def data_ptr(self: Tensor) -> int:
    """The address of the first element; 0 when there is none.

    Example:
        >>> x = clew.arange(5)
        >>> x.data_ptr() == x.view(5, 1).data_ptr(), x.data_ptr() == x.clone().data_ptr()
        (True, False)
    """
    if not self._array.size or is_meta(self._array):
        return 0
    return address_of(memory_behind(self._array))


def is_contiguous(
    self: Tensor, memory_format: layout.memory_format = layout.contiguous_format
) -> bool:
    """Whether the elements lie in memory in the order of their indices.

    Args:
        memory_format: which order is meant; by default that of the dimensions

    Example:
        >>> x = clew.zeros(2, 3)
        >>> x.is_contiguous(), x.t().is_contiguous()
        (True, False)
    """
    if self._is_lifted and memory_format is not layout.contiguous_format:
        raise vmap_errors.asked_format()
    return memory_layout.is_contiguous_in(self._array, memory_format)


def _nbytes(self: Tensor) -> int:
    """The bytes of all elements.

    Example:
        >>> clew.zeros(2, 3).nbytes
        24
    """
    return self._array.nbytes


methods(
    size=size, stride=stride, dim=dim, ndimension=dim, nelement=numel,
    element_size=element_size, storage_offset=storage_offset, data_ptr=data_ptr,
    is_contiguous=is_contiguous,
    itemsize=property(element_size), nbytes=property(_nbytes),
)  # fmt: skip


# -- kinds -----------------------------------------------------------------------------------


def _dtype_of(function: str, input: Any) -> dtypes.dtype:
    if not isinstance(input, Tensor):
        raise errors.wrong_argument(function, "input", 1, "Tensor", input)
    return input.dtype


@public(out=False)
def is_floating_point(input: Tensor) -> bool:
    """Whether the dtype is a real floating-point one.

    Args:
        input: a tensor

    Example:
        >>> clew.is_floating_point(clew.tensor(1.)), clew.is_floating_point(clew.tensor(1))
        (True, False)
    """
    return _dtype_of("is_floating_point", input).is_floating_point


@public(out=False)
def is_complex(input: Tensor) -> bool:
    """Whether the dtype is complex.

    Args:
        input: a tensor

    Example:
        >>> clew.is_complex(clew.tensor(1j)), clew.is_complex(clew.tensor(1.))
        (True, False)
    """
    return _dtype_of("is_complex", input).is_complex


@public(out=False)
def is_signed(input: Tensor) -> bool:
    """Whether the dtype has negative numbers.

    Args:
        input: a tensor

    Example:
        >>> clew.tensor(1).is_signed(), clew.tensor(True).is_signed()
        (True, False)
    """
    return _dtype_of("is_signed", input).is_signed


@public(out=False)
def is_nonzero(input: Tensor) -> bool:
    """Whether the only element is not zero; tensors of several elements raise.

    Args:
        input: a tensor of one element

    Example:
        >>> clew.is_nonzero(clew.tensor([0.])), clew.is_nonzero(clew.tensor(2))
        (False, True)
    """
    return bool(input)


@public(out=False)
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape.

    Args:
        input: a tensor
        other: a second tensor

    Example:
        >>> clew.zeros(2, 3).is_same_size(clew.zeros(3, 2))
        False
    """
    if not isinstance(other, Tensor):
        raise errors.wrong_argument("is_same_size", "other", 1, "Tensor", other)
    return input._array.shape == other._array.shape


def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Whether both are the same piece of memory, seen alike.

    Args:
        tensor: the tensor to compare with

    Example:
        >>> x = clew.zeros(2, 3)
        >>> x.is_set_to(x.view(2, 3)), x.is_set_to(x.clone())
        (True, False)
    """
    mine, other = self._array, tensor._array
    return (
        mine.shape == other.shape
        and mine.strides == other.strides
        and address_of(mine) == address_of(other)
        and not bits_of(mine)
    )


@public(method=False, out=False)
def is_tensor(obj: Any) -> bool:
    """Whether an object is a tensor.

    Args:
        obj: any object

    Example:
        >>> clew.is_tensor(clew.tensor(1)), clew.is_tensor(1)
        (True, False)
    """
    return isinstance(obj, Tensor)


@public(method=False, out=False)
def is_storage(obj: Any) -> bool:
    """Whether an object is what `untyped_storage()` or `storage()` returns.

    Args:
        obj: any object

    Example:
        >>> clew.is_storage(clew.tensor(1).untyped_storage())
        True
    """
    return isinstance(obj, UntypedStorage | TypedStorage)


@public(method=False, out=False)
def typename(obj: Any) -> str:
    """The legacy name of a tensor's type, or the full name of any other object's type.

    Args:
        obj: any object

    Example:
        >>> clew.typename(clew.tensor([1.])), clew.typename("text")
        ('torch.FloatTensor', 'str')
    """
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
    """The dtype that arithmetic between two operands would have.

    Args:
        tensor1: a tensor or a number
        tensor2: a tensor or a number

    Example:
        >>> clew.result_type(clew.tensor([1, 2]), 0.5)
        torch.float32
        >>> clew.result_type(clew.tensor([1.]), clew.tensor(1., dtype=clew.float64))
        torch.float32
    """
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
    return parts.legacy_storages.LEGACY_CLASSES.get(
        f"{self.dtype.scalar_name}Storage", TypedStorage
    )


@public(out=False)
def get_device(input: Tensor) -> int:
    """The index of the accelerator: -1, because the tensor is on the CPU.

    Args:
        input: a tensor

    Example:
        >>> clew.zeros(2).get_device()
        -1
    """
    return -1


@public(method=False, out=False)
def is_inference(input: Tensor) -> bool:
    """Whether a tensor was made in inference mode.

    Args:
        input: a tensor

    Example:
        >>> with clew.inference_mode():
        ...     x = clew.zeros(2)
        >>> clew.is_inference(x)
        True
    """
    return input.is_inference()


def dim_order(self: Tensor) -> tuple[int, ...]:
    """The dimensions from outermost to innermost in memory.

    Example:
        >>> clew.zeros(2, 3, 5).permute(0, 2, 1).dim_order()
        (0, 2, 1)
    """
    return memory_order(self._array)


def is_pinned(self: Tensor, device: Any = None) -> bool:
    """Whether the memory is pinned for an accelerator: False, always.

    Args:
        device: deprecated and ignored

    Example:
        >>> clew.zeros(2).is_pinned()
        False
    """
    return False


def is_shared(self: Tensor) -> bool:
    """Whether the tensor is in memory that other processes can share.

    Example:
        >>> clew.zeros(3).is_shared()
        False
    """
    return storage_of(self).is_shared()


def device(self: Tensor) -> device_type:
    if not is_meta(self._layout):
        return CPU
    # Objects of classes that take over operations say where they are.
    found: device_type = self.__dict__.get("_device", META)
    return found


def _constant(name: str, value: Any, doc: str) -> property:
    """An attribute that is the same for all tensors."""
    example = f"\n\nExample:\n    >>> clew.zeros(2).{name}\n    {value!r}"
    return property(lambda self: value, doc=doc + example)


# What PyTorch's flags ask of a tensor, and no tensor here is.
_NEVER = {
    "is_cuda": "on a CUDA GPU", "is_mps": "on an Apple GPU", "is_xpu": "on an Intel GPU",
    "is_sparse": "of a sparse layout",
    "is_sparse_csr": "of the sparse layout CSR", "is_quantized": "quantized",
    "is_mkldnn": "in the layout of oneDNN", "is_nested": "a nested tensor",
    "is_ipu": "on a Graphcore IPU", "is_xla": "on an XLA device", "is_vulkan": "on a Vulkan GPU",
    "is_maia": "on a Maia device", "is_mtia": "on an MTIA device",
}  # fmt: skip

methods(
    is_set_to=is_set_to, untyped_storage=untyped_storage, storage=storage,
    _typed_storage=_typed_storage, storage_type=storage_type, dim_order=dim_order,
    is_pinned=is_pinned, is_shared=is_shared,
    device=property(
        device,
        doc="Where the tensor lives: on the CPU, or, without elements, on the meta device.\n\n"
        "Example:\n    >>> clew.zeros(2).device\n    device(type='cpu')",
    ),
    layout=_constant("layout", layout.strided, "How the elements are arranged: strided, always."),
    is_cpu=property(
        lambda self: not is_meta(self._layout),
        doc="Whether the tensor is on the CPU.\n\n"
        "Example:\n    >>> clew.zeros(2).is_cpu\n    True",
    ),
    is_meta=property(
        lambda self: is_meta(self._layout),
        doc="Whether the tensor is without elements, on the meta device.\n\n"
        "Example:\n    >>> clew.zeros(2, device='meta').is_meta\n    True",
    ),
    **{
        flag: _constant(flag, False, f"Whether the tensor is {words}: False, always.")
        for flag, words in _NEVER.items()
    },
)  # fmt: skip
