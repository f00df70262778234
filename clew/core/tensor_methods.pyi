"""What `clew.ops` attaches to `Tensor`: written by `python -m tests.type_stubs`."""

from typing import Any as _Any
from clew.backend.device import device as _device
from clew.backend.dtypes import dtype as _dtype
from clew.backend.layout import memory_format as _memory_format
from clew.backend.mt19937 import Generator as _Stream
from clew.core.hooks import RemovableHandle as _RemovableHandle
from clew.core.tensor import Tensor as _Tensor
from clew.ops.create.random import Generator as _Generator
from clew.ops.define.return_types import aminmax as _aminmax
from clew.ops.define.return_types import cummax as _cummax
from clew.ops.define.return_types import cummin as _cummin
from clew.ops.define.return_types import geqrf as _geqrf
from clew.ops.define.return_types import histogram as _histogram
from clew.ops.define.return_types import kthvalue as _kthvalue
from clew.ops.define.return_types import linalg_slogdet as _linalg_slogdet
from clew.ops.define.return_types import median as _median
from clew.ops.define.return_types import mode as _mode
from clew.ops.define.return_types import nanmedian as _nanmedian
from clew.ops.define.return_types import qr as _qr
from clew.ops.define.return_types import sort as _sort
from clew.ops.define.return_types import svd as _svd
from clew.ops.define.return_types import topk as _topk
from clew.ops.define.return_types import triangular_solve as _triangular_solve
from clew.ops.tensor.typed_storage import TypedStorage as _TypedStorage
from clew.ops.tensor.untyped_storage import UntypedStorage as _UntypedStorage
from collections.abc import Callable as _Callable
from collections.abc import Iterator as _Iterator
from collections.abc import Sequence as _Sequence
from numpy import ndarray as _ndarray
import builtins as _builtins

class TensorMethods:
    @property
    def H(self) -> _Tensor:
        """The conjugate transpose of a matrix."""
    @property
    def T(self) -> _Tensor:
        """The tensor with its dimensions in reverse order, as a view; meant for matrices."""
    def __abs__(self) -> _Tensor:
        """The absolute value; of complex numbers, their distance from 0."""
    def __add__(self, other: _Any) -> _Tensor:
        ...
    def __and__(self, other: _Any) -> _Tensor:
        ...
    def __array__(self, dtype: _Any = None, copy: _builtins.bool | None = None) -> _ndarray:
        ...
    def __bool__(self) -> _builtins.bool:
        ...
    def __complex__(self) -> _builtins.complex:
        ...
    def __contains__(self, element: _Any) -> _builtins.bool:
        ...
    def __eq__(self, other: _Any) -> _Tensor:  # type: ignore[override]
        ...
    def __float__(self) -> _builtins.float:
        ...
    def __floordiv__(self, other: _Any) -> _Tensor:
        ...
    def __ge__(self, other: _Any) -> _Tensor:
        ...
    def __getitem__(self, index: _Any) -> _Tensor:
        """`self[index]`."""
    def __gt__(self, other: _Any) -> _Tensor:
        ...
    def __iadd__(self, other: _Any) -> _Any:
        ...
    def __imul__(self, other: _Any) -> _Any:
        ...
    def __index__(self) -> _builtins.int:
        ...
    def __int__(self) -> _builtins.int:
        ...
    def __invert__(self) -> _Tensor:
        ...
    def __isub__(self, other: _Any) -> _Any:
        ...
    def __iter__(self) -> _Iterator[_Tensor]:
        ...
    def __itruediv__(self, other: _Any) -> _Any:
        ...
    def __le__(self, other: _Any) -> _Tensor:
        ...
    def __len__(self) -> _builtins.int:
        ...
    def __lshift__(self, other: _Any) -> _Any:
        ...
    def __lt__(self, other: _Any) -> _Tensor:
        ...
    def __matmul__(self, other: _Any) -> _Tensor:
        ...
    def __mod__(self, other: _Any) -> _Tensor:
        ...
    def __mul__(self, other: _Any) -> _Tensor:
        ...
    def __ne__(self, other: _Any) -> _Tensor:  # type: ignore[override]
        ...
    def __neg__(self) -> _Tensor:
        """The negative of each element: `-input`."""
    def __or__(self, other: _Any) -> _Tensor:
        ...
    def __pos__(self) -> _Tensor:
        """`+input`: the tensor itself, which must not be of bools."""
    def __pow__(self, other: _Any) -> _Tensor:
        ...
    def __radd__(self, other: _Any) -> _Tensor:
        ...
    def __rand__(self, other: _Any) -> _Any:
        ...
    def __rfloordiv__(self, other: _Any) -> _Any:
        ...
    def __rmatmul__(self, other: _Any) -> _Any:
        ...
    def __rmod__(self, other: _Any) -> _Any:
        ...
    def __rmul__(self, other: _Any) -> _Tensor:
        ...
    def __ror__(self, other: _Any) -> _Any:
        ...
    def __rpow__(self, other: _Any) -> _Tensor:
        ...
    def __rshift__(self, other: _Any) -> _Any:
        ...
    def __rsub__(self, other: _Any) -> _Tensor:
        ...
    def __rtruediv__(self, other: _Any) -> _Tensor:
        ...
    def __rxor__(self, other: _Any) -> _Any:
        ...
    def __setitem__(self, index: _Any, value: _Any) -> None:
        """`self[index] = value`."""
    def __sub__(self, other: _Any) -> _Tensor:
        ...
    def __truediv__(self, other: _Any) -> _Tensor:
        ...
    def __xor__(self, other: _Any) -> _Tensor:
        ...
    def abs(self) -> _Tensor:
        """The absolute value; of complex numbers, their distance from 0."""
    def abs_(self) -> _Tensor:
        """In-place version of `abs`."""
    def absolute(self) -> _Tensor:
        """The absolute value; of complex numbers, their distance from 0."""
    def absolute_(self) -> _Tensor:
        """In-place version of `abs`."""
    def acos(self) -> _Tensor:
        """The inverse of the cosine, in [0, pi]; NaN outside of [-1, 1]."""
    def acos_(self) -> _Tensor:
        """In-place version of `acos`."""
    def acosh(self) -> _Tensor:
        """The inverse of the hyperbolic cosine; NaN below 1."""
    def acosh_(self) -> _Tensor:
        """In-place version of `acosh`."""
    def add(self, other: _Any, *, alpha: _builtins.complex = 1) -> _Tensor:
        """`input + alpha * other`."""
    def add_(self, other: _Any, *, alpha: _builtins.complex = 1) -> _Tensor:
        """In-place version of `add`."""
    def addbmm(self, batch1: _Tensor, batch2: _Tensor, *, beta: _builtins.int | _builtins.float | _builtins.complex = 1, alpha: _builtins.int | _builtins.float | _builtins.complex = 1) -> _Tensor:
        """`beta * input` plus `alpha` times the sum of the products of two batches' matrices."""
    def addbmm_(self, batch1: _Tensor, batch2: _Tensor, *, beta: _builtins.int | _builtins.float | _builtins.complex = 1, alpha: _builtins.int | _builtins.float | _builtins.complex = 1) -> _Tensor:
        """In-place version of `addbmm`."""
    def addcdiv(self, tensor1: _Tensor, tensor2: _Tensor, *, value: _Any = 1) -> _Tensor:
        """`input + value * tensor1 / tensor2`."""
    def addcdiv_(self, tensor1: _Tensor, tensor2: _Tensor, *, value: _Any = 1) -> _Tensor:
        """In-place version of `addcdiv`."""
    def addcmul(self, tensor1: _Tensor, tensor2: _Tensor, *, value: _Any = 1) -> _Tensor:
        """`input + value * tensor1 * tensor2`."""
    def addcmul_(self, tensor1: _Tensor, tensor2: _Tensor, *, value: _Any = 1) -> _Tensor:
        """In-place version of `addcmul`."""
    def addmm(self, mat1: _Tensor, mat2: _Tensor, *, beta: _builtins.int | _builtins.float | _builtins.complex = 1, alpha: _builtins.int | _builtins.float | _builtins.complex = 1) -> _Tensor:
        """`beta * input + alpha * (mat1 @ mat2)`."""
    def addmm_(self, mat1: _Tensor, mat2: _Tensor, *, beta: _builtins.int | _builtins.float | _builtins.complex = 1, alpha: _builtins.int | _builtins.float | _builtins.complex = 1) -> _Tensor:
        """In-place version of `addmm`."""
    def addmv(self, mat: _Tensor, vec: _Tensor, *, beta: _builtins.int | _builtins.float | _builtins.complex = 1, alpha: _builtins.int | _builtins.float | _builtins.complex = 1) -> _Tensor:
        """`beta * input + alpha * (mat @ vec)`."""
    def addmv_(self, mat: _Tensor, vec: _Tensor, *, beta: _builtins.int | _builtins.float | _builtins.complex = 1, alpha: _builtins.int | _builtins.float | _builtins.complex = 1) -> _Tensor:
        """In-place version of `addmv`."""
    def addr(self, vec1: _Tensor, vec2: _Tensor, *, beta: _builtins.int | _builtins.float | _builtins.complex = 1, alpha: _builtins.int | _builtins.float | _builtins.complex = 1) -> _Tensor:
        """`beta * input + alpha * outer(vec1, vec2)`."""
    def addr_(self, vec1: _Tensor, vec2: _Tensor, *, beta: _builtins.int | _builtins.float | _builtins.complex = 1, alpha: _builtins.int | _builtins.float | _builtins.complex = 1) -> _Tensor:
        """In-place version of `addr`."""
    def adjoint(self) -> _Tensor:
        """The conjugate transpose of a matrix, or of each in a batch."""
    def all(self, dim: _builtins.int | _builtins.tuple[_builtins.int, ...] | _builtins.list[_builtins.int] | None = None, keepdim: _builtins.bool = False) -> _Tensor:
        """Whether all elements are nonzero."""
    def allclose(self, other: _Tensor, rtol: _builtins.float = 1e-05, atol: _builtins.float = 1e-08, equal_nan: _builtins.bool = False) -> _builtins.bool:
        """Whether all elements are close, in the sense of `isclose`; a Python bool."""
    def amax(self, dim: _builtins.int | _builtins.tuple[_builtins.int, ...] | _builtins.list[_builtins.int] | None = ..., keepdim: _builtins.bool = False) -> _Tensor:
        """The largest value over some dimensions; equal ones share the gradient."""
    def amin(self, dim: _builtins.int | _builtins.tuple[_builtins.int, ...] | _builtins.list[_builtins.int] | None = ..., keepdim: _builtins.bool = False) -> _Tensor:
        """The smallest value over some dimensions; equal ones share the gradient."""
    def aminmax(self, *, dim: _builtins.int | None = None, keepdim: _builtins.bool = False) -> _aminmax:
        """The smallest and the largest value, over one dimension or over all."""
    def angle(self) -> _Tensor:
        """The angle of complex numbers in radians; 0 or pi for real ones."""
    def any(self, dim: _builtins.int | _builtins.tuple[_builtins.int, ...] | _builtins.list[_builtins.int] | None = None, keepdim: _builtins.bool = False) -> _Tensor:
        """Whether some element is nonzero."""
    def apply_(self, callable: _Callable[[_Any], _Any]) -> _Tensor:
        """Replace every element by what a Python function makes of it. Slow: for what has no operation."""
    def arccos(self) -> _Tensor:
        """The inverse of the cosine, in [0, pi]; NaN outside of [-1, 1]."""
    def arccos_(self) -> _Tensor:
        """In-place version of `acos`."""
    def arccosh(self) -> _Tensor:
        """The inverse of the hyperbolic cosine; NaN below 1."""
    def arccosh_(self) -> _Tensor:
        """In-place version of `acosh`."""
    def arcsin(self) -> _Tensor:
        """The inverse of the sine, in [-pi/2, pi/2]; NaN outside of [-1, 1]."""
    def arcsin_(self) -> _Tensor:
        """In-place version of `asin`."""
    def arcsinh(self) -> _Tensor:
        """The inverse of the hyperbolic sine."""
    def arcsinh_(self) -> _Tensor:
        """In-place version of `asinh`."""
    def arctan(self) -> _Tensor:
        """The inverse of the tangent, in [-pi/2, pi/2]."""
    def arctan2(self, other: _Any) -> _Tensor:
        """The angle of the point (other, input), in [-pi, pi]: `atan(input / other)` in the right quadrant."""
    def arctan2_(self, other: _Any) -> _Tensor:
        """In-place version of `atan2`."""
    def arctan_(self) -> _Tensor:
        """In-place version of `atan`."""
    def arctanh(self) -> _Tensor:
        """The inverse of the hyperbolic tangent; NaN outside of [-1, 1]."""
    def arctanh_(self) -> _Tensor:
        """In-place version of `atanh`."""
    def argmax(self, dim: _builtins.int | None = None, keepdim: _builtins.bool = False) -> _Tensor:
        """The index of the largest element (the first one; NaN counts as largest)."""
    def argmin(self, dim: _builtins.int | None = None, keepdim: _builtins.bool = False) -> _Tensor:
        """The index of the smallest element (the first one; NaN counts as smallest)."""
    def argsort(self, dim: _builtins.int = -1, descending: _builtins.bool = False, stable: _builtins.bool = False) -> _Tensor:
        """The indices that sort a dimension."""
    def argwhere(self) -> _Tensor:
        """The indices of the elements that are not zero, one row each."""
    def as_strided(self, size: _Any, stride: _Any, storage_offset: _builtins.int | None = None) -> _Tensor:
        """A view with any size and strides over the tensor's memory."""
    def as_strided_(self, size: _Any, stride: _Any, storage_offset: _builtins.int | None = None) -> _Tensor:
        """In-place version of `as_strided`: give this tensor any size and strides over its memory."""
    def as_strided_scatter(self, src: _Tensor, size: _Any, stride: _Any, storage_offset: _builtins.int | None = None) -> _Tensor:
        """A copy with `src` in the part that `as_strided` would show."""
    def as_subclass(self, cls: _builtins.type[_Tensor]) -> _Tensor:
        """The same tensor as an object of a subclass, with its history."""
    def asin(self) -> _Tensor:
        """The inverse of the sine, in [-pi/2, pi/2]; NaN outside of [-1, 1]."""
    def asin_(self) -> _Tensor:
        """In-place version of `asin`."""
    def asinh(self) -> _Tensor:
        """The inverse of the hyperbolic sine."""
    def asinh_(self) -> _Tensor:
        """In-place version of `asinh`."""
    def atan(self) -> _Tensor:
        """The inverse of the tangent, in [-pi/2, pi/2]."""
    def atan2(self, other: _Any) -> _Tensor:
        """The angle of the point (other, input), in [-pi, pi]: `atan(input / other)` in the right quadrant."""
    def atan2_(self, other: _Any) -> _Tensor:
        """In-place version of `atan2`."""
    def atan_(self) -> _Tensor:
        """In-place version of `atan`."""
    def atanh(self) -> _Tensor:
        """The inverse of the hyperbolic tangent; NaN outside of [-1, 1]."""
    def atanh_(self) -> _Tensor:
        """In-place version of `atanh`."""
    def backward(self, gradient: _Tensor | None = None, retain_graph: _builtins.bool | None = None, create_graph: _builtins.bool = False, inputs: _Any = None) -> None:
        """Add the gradients of this tensor's leaves into their `.grad`."""
    def baddbmm(self, batch1: _Tensor, batch2: _Tensor, *, beta: _builtins.int | _builtins.float | _builtins.complex = 1, alpha: _builtins.int | _builtins.float | _builtins.complex = 1) -> _Tensor:
        """`beta * input + alpha * (batch1 @ batch2)` for batches of matrices."""
    def baddbmm_(self, batch1: _Tensor, batch2: _Tensor, *, beta: _builtins.int | _builtins.float | _builtins.complex = 1, alpha: _builtins.int | _builtins.float | _builtins.complex = 1) -> _Tensor:
        """In-place version of `baddbmm`."""
    def bernoulli(self, p: _builtins.float | None = None, *, generator: _Generator | _Stream | None = None, out: _Tensor | None = None) -> _Tensor:
        """Ones with the probability that stands at each place of `input`, and zeros."""
    def bernoulli_(self, p: _Any = 0.5, *, generator: _Generator | _Stream | None = None) -> _Tensor:
        """Fill with ones, with probability `p` each, and zeros."""
    def bfloat16(self, *, memory_format: _memory_format | None = None) -> _Tensor:
        """The tensor in bfloat16: itself when it is that already."""
    def bincount(self, weights: _Tensor | None = None, minlength: _builtins.int = 0) -> _Tensor:
        """How often each non-negative integer occurs, or the sum of its weights."""
    def bitwise_and(self, other: _Any) -> _Any:
        """The bits that are set in both operands: `input & other`."""
    def bitwise_and_(self, other: _Any) -> _Tensor:
        """In-place version of `bitwise_and`."""
    def bitwise_left_shift(self, other: _Any) -> _Tensor:
        """The bits moved to the left: `input << other`, which is `input * 2**other`."""
    def bitwise_left_shift_(self, other: _Any) -> _Tensor:
        """In-place version of `bitwise_left_shift`."""
    def bitwise_not(self) -> _Any:
        """All bits inverted: `~input`. For bools, the logical not."""
    def bitwise_not_(self) -> _Tensor:
        """In-place version of `bitwise_not`."""
    def bitwise_or(self, other: _Any) -> _Any:
        """The bits that are set in at least one operand: `input | other`."""
    def bitwise_or_(self, other: _Any) -> _Tensor:
        """In-place version of `bitwise_or`."""
    def bitwise_right_shift(self, other: _Any) -> _Tensor:
        """The bits moved to the right: `input >> other`, which is `input // 2**other`."""
    def bitwise_right_shift_(self, other: _Any) -> _Tensor:
        """In-place version of `bitwise_right_shift`."""
    def bitwise_xor(self, other: _Any) -> _Any:
        """The bits that are set in exactly one operand: `input ^ other`."""
    def bitwise_xor_(self, other: _Any) -> _Tensor:
        """In-place version of `bitwise_xor`."""
    def bmm(self, mat2: _Tensor) -> _Tensor:
        """The products of the matrices in two batches."""
    def bool(self, *, memory_format: _memory_format | None = None) -> _Tensor:
        """The tensor in bool: itself when it is that already."""
    def broadcast_to(self, *args: _Any, size: _Any = None) -> _Tensor:
        """Expand to a shape, without a copy; see `Tensor.expand`."""
    def byte(self, *, memory_format: _memory_format | None = None) -> _Tensor:
        """The tensor in uint8: itself when it is that already."""
    def cauchy_(self, median: _builtins.float = 0, sigma: _builtins.float = 1, *, generator: _Generator | _Stream | None = None) -> _Tensor:
        """Fill with numbers from the Cauchy distribution."""
    def ccol_indices(self) -> _Tensor:
        """Where each column of a compressed tensor begins among its values."""
    def cdouble(self, *, memory_format: _memory_format | None = None) -> _Tensor:
        """The tensor in complex128: itself when it is that already."""
    def ceil(self) -> _Tensor:
        """The smallest integer that is not below each element."""
    def ceil_(self) -> _Tensor:
        """In-place version of `ceil`."""
    def cfloat(self, *, memory_format: _memory_format | None = None) -> _Tensor:
        """The tensor in complex64: itself when it is that already."""
    def chalf(self, *, memory_format: _memory_format | None = None) -> _Tensor:
        """The tensor in complex32: itself when it is that already."""
    def char(self, *, memory_format: _memory_format | None = None) -> _Tensor:
        """The tensor in int8: itself when it is that already."""
    def cholesky(self, upper: _builtins.bool = False) -> _Tensor:
        """The Cholesky factor; `linalg.cholesky` is its newer form."""
    def cholesky_inverse(self, upper: _builtins.bool = False) -> _Tensor:
        """The inverse of A, given its Cholesky factor."""
    def cholesky_solve(self, L: _Tensor, upper: _builtins.bool = False) -> _Tensor:
        """The solution X of A X = B, given the Cholesky factor of A."""
    def chunk(self, chunks: _builtins.int, dim: _builtins.int = 0) -> _builtins.tuple[_Tensor, ...]:
        """At most `chunks` views of equal size; the last one may be smaller."""
    def clamp(self, min: _Any = None, max: _Any = None) -> _Tensor:
        """Elements limited to [min, max]. The bounds are both numbers or both tensors."""
    def clamp_(self, min: _Any = None, max: _Any = None) -> _Tensor:
        """In-place version of `clamp`."""
    def clamp_max(self, max: _Any) -> _Tensor:
        """Elements that are at most `max`."""
    def clamp_max_(self, max: _Any) -> _Tensor:
        """In-place version of `clamp_max`."""
    def clamp_min(self, min: _Any) -> _Tensor:
        """Elements that are at least `min`."""
    def clamp_min_(self, min: _Any) -> _Tensor:
        """In-place version of `clamp_min`."""
    def clip(self, min: _Any = None, max: _Any = None) -> _Tensor:
        """Elements limited to [min, max]. The bounds are both numbers or both tensors."""
    def clip_(self, min: _Any = None, max: _Any = None) -> _Tensor:
        """In-place version of `clip`."""
    def clone(self, *, memory_format: _memory_format | None = None) -> _Tensor:
        """A copy that is part of the graph: gradients flow through it."""
    def coalesce(self) -> _Tensor:
        """The same COO tensor with every index once, in order; values of equal ones are added."""
    def col_indices(self) -> _Tensor:
        """The column of each value of a compressed tensor."""
    def conj(self) -> _Tensor:
        """The complex conjugate, as a view that shares memory; a real tensor itself."""
    def conj_physical(self) -> _Tensor:
        """The complex conjugate in memory of its own; a real tensor itself."""
    def conj_physical_(self) -> _Tensor:
        """In-place version of `conj_physical`."""
    def contiguous(self, memory_format: _memory_format = ...) -> _Tensor:
        """The tensor itself when its memory is in order, else a copy that is."""
    def copy_(self, src: _Any, non_blocking: _builtins.bool = False) -> _Tensor:
        """Write another tensor's values, broadcast and converted, into this one."""
    def copysign(self, other: _Any) -> _Tensor:
        """The magnitude of `input` with the sign of `other`."""
    def copysign_(self, other: _Any) -> _Tensor:
        """In-place version of `copysign`."""
    def corrcoef(self) -> _Tensor:
        """The matrix of correlation coefficients of variables in rows, observed in columns."""
    def cos(self) -> _Tensor:
        """The cosine of angles in radians."""
    def cos_(self) -> _Tensor:
        """In-place version of `cos`."""
    def cosh(self) -> _Tensor:
        """The hyperbolic cosine: `(exp(input) + exp(-input)) / 2`."""
    def cosh_(self) -> _Tensor:
        """In-place version of `cosh`."""
    def count_nonzero(self, dim: _builtins.int | _builtins.tuple[_builtins.int, ...] | _builtins.list[_builtins.int] | None = None) -> _Tensor:
        """How many elements are not zero."""
    def cov(self, *, correction: _builtins.int = 1, fweights: _Tensor | None = None, aweights: _Tensor | None = None) -> _Tensor:
        """The covariance matrix of variables in rows, observed in columns."""
    def cpu(self, memory_format: _memory_format | None = None) -> _Tensor:
        """The tensor on the CPU, where it is."""
    def cross(self, other: _Tensor, dim: _builtins.int | None = None) -> _Tensor:
        """The cross product along a dimension; by default the first one of length 3."""
    def crow_indices(self) -> _Tensor:
        """Where each row of a compressed tensor begins among its values."""
    def cuda(self, device: _Any = None, non_blocking: _builtins.bool = False) -> _Tensor:
        """Raises: this build has no CUDA."""
    def cummax(self, dim: _builtins.int) -> _cummax:
        """The largest element so far along a dimension, and where (the latest of equals)."""
    def cummin(self, dim: _builtins.int) -> _cummin:
        """The smallest element so far along a dimension, and where (the latest of equals)."""
    def cumprod(self, dim: _builtins.int, *, dtype: _dtype | None = None) -> _Tensor:
        """Running products along a dimension."""
    def cumprod_(self, dim: _builtins.int, *, dtype: _dtype | None = None) -> _Tensor:
        """In-place version of `cumprod`."""
    def cumsum(self, dim: _builtins.int, *, dtype: _dtype | None = None) -> _Tensor:
        """Running sums along a dimension."""
    def cumsum_(self, dim: _builtins.int, *, dtype: _dtype | None = None) -> _Tensor:
        """In-place version of `cumsum`."""
    @property
    def data(self) -> _Tensor:
        """A tensor over the same memory without history; writes to it are not noticed by autograd."""
    @data.setter
    def data(self, value: _Any) -> None: ...
    def data_ptr(self) -> _builtins.int:
        """The address of the first element; 0 when there is none."""
    def deg2rad(self) -> _Tensor:
        """Degrees as radians: `input * pi / 180`."""
    def deg2rad_(self) -> _Tensor:
        """In-place version of `deg2rad`."""
    def dense_dim(self) -> _builtins.int:
        """How many dimensions are dense: those of each value."""
    def det(self) -> _Tensor:
        """The determinant of square matrices."""
    def detach(self) -> _Tensor:
        """A tensor over the same memory without history: no gradient flows through it."""
    def detach_(self) -> _Tensor:
        """Forget this tensor's history: it is a leaf from then on, without gradient."""
    @property
    def device(self) -> _device:
        """Where the tensor lives: on the CPU, or, without elements, on the meta device."""
    def diag(self, diagonal: _builtins.int = 0) -> _Tensor:
        """The diagonal of a matrix, or the matrix with a given diagonal: a copy."""
    def diag_embed(self, offset: _builtins.int = 0, dim1: _builtins.int = -2, dim2: _builtins.int = -1) -> _Tensor:
        """The last dimension on the diagonals of new matrices."""
    def diagflat(self, offset: _builtins.int = 0) -> _Tensor:
        """The matrix with all elements of a tensor on a diagonal."""
    def diagonal(self, offset: _builtins.int = 0, dim1: _builtins.int = 0, dim2: _builtins.int = 1) -> _Tensor:
        """The diagonal of two dimensions, as the last dimension of a view."""
    def diagonal_scatter(self, src: _Tensor, offset: _builtins.int = 0, dim1: _builtins.int = 0, dim2: _builtins.int = 1) -> _Tensor:
        """A copy with `src` on a diagonal: what writing to `diagonal` gives."""
    def diff(self, n: _builtins.int = 1, dim: _builtins.int = -1, prepend: _Tensor | None = None, append: _Tensor | None = None) -> _Tensor:
        """The n-th differences of neighbours along a dimension."""
    def digamma(self) -> _Tensor:
        """The derivative of `lgamma`."""
    def digamma_(self) -> _Tensor:
        """In-place version of `digamma`."""
    def dim(self) -> _builtins.int:
        """The number of dimensions."""
    def dim_order(self) -> _builtins.tuple[_builtins.int, ...]:
        """The dimensions from outermost to innermost in memory."""
    def dist(self, other: _Tensor, p: _builtins.float = 2) -> _Tensor:
        """The p-norm of `input - other`: the distance of two tensors."""
    def div(self, other: _Any, *, rounding_mode: _builtins.str | None = ...) -> _Tensor:
        """`input / other`, rounded if asked. Without rounding, integers give the default float."""
    def div_(self, other: _Any, *, rounding_mode: _builtins.str | None = ...) -> _Tensor:
        """In-place version of `div`."""
    def divide(self, other: _Any, *, rounding_mode: _builtins.str | None = ...) -> _Tensor:
        """`input / other`, rounded if asked. Without rounding, integers give the default float."""
    def divide_(self, other: _Any, *, rounding_mode: _builtins.str | None = ...) -> _Tensor:
        """In-place version of `div`."""
    def dot(self, tensor: _Tensor) -> _Tensor:
        """The sum of the products of two vectors' elements."""
    def double(self, *, memory_format: _memory_format | None = None) -> _Tensor:
        """The tensor in float64: itself when it is that already."""
    def dsplit(self, indices_or_sections: _builtins.int | _Sequence[_builtins.int]) -> _builtins.tuple[_Tensor, ...]:
        """Split along the third dimension."""
    def eig(self, *args: _Any, **kwargs: _Any) -> _Any:
        """Removed: `linalg.eig(A)` or `linalg.eigvals(A)`, whose results are complex."""
    def element_size(self) -> _builtins.int:
        """The bytes of one element."""
    def eq(self, other: _Any) -> _Any:
        """Where elements are equal, as a tensor of bools; NaN equals nothing."""
    def eq_(self, other: _Any) -> _Tensor:
        """In-place version of `eq`."""
    def equal(self, other: _Tensor) -> _builtins.bool:
        """Whether two tensors have the same shape and the same elements; a Python bool."""
    def erf(self) -> _Tensor:
        """The error function: the integral of `2/sqrt(pi) * exp(-t²)` from 0 to `input`."""
    def erf_(self) -> _Tensor:
        """In-place version of `erf`."""
    def erfc(self) -> _Tensor:
        """`1 - erf(input)`, which stays exact where `erf` is near 1."""
    def erfc_(self) -> _Tensor:
        """In-place version of `erfc`."""
    def erfinv(self) -> _Tensor:
        """The inverse of the error function; infinite at -1 and 1, NaN outside."""
    def erfinv_(self) -> _Tensor:
        """In-place version of `erfinv`."""
    def exp(self) -> _Tensor:
        """e to the power of each element."""
    def exp2(self) -> _Tensor:
        """2 to the power of each element."""
    def exp2_(self) -> _Tensor:
        """In-place version of `exp2`."""
    def exp_(self) -> _Tensor:
        """In-place version of `exp`."""
    def expand(self, *args: _Any, size: _Any = None, implicit: _builtins.bool = False) -> _Tensor:
        """A view that repeats dimensions of size 1 (and new leading ones) without a copy."""
    def expand_as(self, other: _Tensor) -> _Tensor:
        """Expand to the shape of another tensor, without a copy."""
    def expm1(self) -> _Tensor:
        """`exp(input) - 1`, which stays exact for numbers near 0."""
    def expm1_(self) -> _Tensor:
        """In-place version of `expm1`."""
    def exponential_(self, lambd: _builtins.float = 1, *, generator: _Generator | _Stream | None = None) -> _Tensor:
        """Fill with numbers from the exponential distribution."""
    def fill_(self, value: _Any) -> _Tensor:
        """Set every element to one value."""
    def fill_diagonal_(self, fill_value: _Any, wrap: _builtins.bool = False) -> _Tensor:
        """Write one value to the diagonal of this tensor; returns it."""
    def fix(self) -> _Tensor:
        """Each element without its fraction: rounded towards zero."""
    def fix_(self) -> _Tensor:
        """In-place version of `trunc`."""
    def flatten(self, start_dim: _builtins.int = 0, end_dim: _builtins.int = -1) -> _Tensor:
        """Join the dimensions from `start_dim` to `end_dim` into one."""
    def flip(self, *args: _Any, dims: _Any = None) -> _Tensor:
        """A copy with the order of elements reversed along dimensions."""
    def fliplr(self) -> _Tensor:
        """A copy with the columns (the second dimension) reversed."""
    def flipud(self) -> _Tensor:
        """A copy with the rows (the first dimension) reversed."""
    def float(self, *, memory_format: _memory_format | None = None) -> _Tensor:
        """The tensor in float32: itself when it is that already."""
    def float_power(self, exponent: _Any) -> _Tensor:
        """`input ** exponent` in double precision, whatever the dtypes of the operands."""
    def float_power_(self, exponent: _Any) -> _Tensor:
        """In-place version of `float_power`."""
    def floor(self) -> _Tensor:
        """The largest integer that is not above each element."""
    def floor_(self) -> _Tensor:
        """In-place version of `floor`."""
    def floor_divide(self, other: _Any) -> _Any:
        """`input / other` rounded down, in the dtype of the operands."""
    def floor_divide_(self, other: _Any) -> _Tensor:
        """In-place version of `floor_divide`."""
    def fmax(self, other: _Any) -> _Tensor:
        """The larger of two elements; if one of them is NaN, the other."""
    def fmin(self, other: _Any) -> _Tensor:
        """The smaller of two elements; if one of them is NaN, the other."""
    def fmod(self, other: _Any) -> _Tensor:
        """The remainder of a division that rounds towards zero, as C's `%`."""
    def fmod_(self, other: _Any) -> _Tensor:
        """In-place version of `fmod`."""
    def frac(self) -> _Tensor:
        """The fraction of each element, with its sign: `input - trunc(input)`."""
    def frac_(self) -> _Tensor:
        """In-place version of `frac`."""
    def frexp(self) -> _Any:
        """`(mantissa, exponent)` with input = mantissa · 2^exponent and 0.5 <= |mantissa| < 1."""
    def gather(self, dim: _builtins.int, index: _Tensor, *, sparse_grad: _builtins.bool = False) -> _Tensor:
        """Pick elements along a dimension: `out[i, j] = input[index[i, j], j]` (for `dim=0`)."""
    def gcd(self, other: _Any) -> _Tensor:
        """The greatest common divisor."""
    def gcd_(self, other: _Any) -> _Tensor:
        """In-place version of `gcd`."""
    def ge(self, other: _Any) -> _Any:
        """Where elements of `input` are larger or equal, as a tensor of bools."""
    def ge_(self, other: _Any) -> _Tensor:
        """In-place version of `ge`."""
    def geometric_(self, p: _builtins.float, *, generator: _Generator | _Stream | None = None) -> _Tensor:
        """Fill with the number of trials up to the first success: 1, 2, 3, …"""
    def geqrf(self) -> _geqrf:
        """The QR decomposition in LAPACK's compact form: R, and the reflections whose product is Q."""
    def ger(self, vec2: _Tensor) -> _Tensor:
        """The matrix of all products of two vectors' elements."""
    def get_device(self) -> _builtins.int:
        """The index of the accelerator: -1, because the tensor is on the CPU."""
    @property
    def grad(self) -> _Tensor | None:
        """The gradient that backward has added up for this leaf; None before the first."""
    @grad.setter
    def grad(self, value: _Any) -> None: ...
    @property
    def grad_dtype(self) -> _dtype | None:
        """The dtype that the gradient of a leaf is converted to; None if it stays as it comes."""
    @grad_dtype.setter
    def grad_dtype(self, value: _Any) -> None: ...
    def greater(self, other: _Any) -> _Any:
        """Where elements of `input` are larger, as a tensor of bools."""
    def greater_(self, other: _Any) -> _Tensor:
        """In-place version of `gt`."""
    def greater_equal(self, other: _Any) -> _Any:
        """Where elements of `input` are larger or equal, as a tensor of bools."""
    def greater_equal_(self, other: _Any) -> _Tensor:
        """In-place version of `ge`."""
    def gt(self, other: _Any) -> _Any:
        """Where elements of `input` are larger, as a tensor of bools."""
    def gt_(self, other: _Any) -> _Tensor:
        """In-place version of `gt`."""
    def half(self, *, memory_format: _memory_format | None = None) -> _Tensor:
        """The tensor in float16: itself when it is that already."""
    def hardshrink(self, lambd: _builtins.float = 0.5) -> _Tensor:
        """`x` outside of [-lambd, lambd], 0 within."""
    def hash_tensor(self, dim: _Any = ..., *, keepdim: _builtins.bool = False, mode: _builtins.int = 0) -> _Tensor:
        """The exclusive or of the bits of all elements, widened to 64 bits: a checksum."""
    def heaviside(self, values: _Tensor) -> _Tensor:
        """The step function: 0 below zero, 1 above, `values` at zero."""
    def heaviside_(self, values: _Tensor) -> _Tensor:
        """In-place version of `heaviside`."""
    def histc(self, bins: _builtins.int = 100, min: _builtins.float = 0, max: _builtins.float = 0) -> _Tensor:
        """Counts of elements in `bins` equal intervals between `min` and `max`."""
    def histogram(self, bins: _builtins.int | _Tensor = 100, *, range: _builtins.tuple[_builtins.float, _builtins.float] | None = None, weight: _Tensor | None = None, density: _builtins.bool = False) -> _histogram:
        """Counts (or densities) of elements between edges, and the edges."""
    def householder_product(self, tau: _Tensor) -> _Tensor:
        """The first columns of the product of the reflections I - tau_i v_i v_i^H."""
    def hsplit(self, indices_or_sections: _builtins.int | _Sequence[_builtins.int]) -> _builtins.tuple[_Tensor, ...]:
        """Split along the second dimension; vectors along their only one."""
    def hypot(self, other: _Any) -> _Tensor:
        """The length of the hypotenuse: `sqrt(input² + other²)`, without overflow on the way."""
    def hypot_(self, other: _Any) -> _Tensor:
        """In-place version of `hypot`."""
    def i0(self) -> _Tensor:
        """The modified Bessel function of the first kind, of order 0."""
    def i0_(self) -> _Tensor:
        """In-place version of `i0`."""
    def igamma(self, other: _Any) -> _Tensor:
        """The regularized lower incomplete gamma function: 0 at `other` = 0, 1 at infinity."""
    def igamma_(self, other: _Any) -> _Tensor:
        """In-place version of `igamma`."""
    def igammac(self, other: _Any) -> _Tensor:
        """The regularized upper incomplete gamma function: `1 - igamma(input, other)`."""
    def igammac_(self, other: _Any) -> _Tensor:
        """In-place version of `igammac`."""
    @property
    def imag(self) -> _Tensor:
        """The imaginary part of a complex tensor, as a view."""
    @imag.setter
    def imag(self, value: _Any) -> None: ...
    def index_add(self, dim: _builtins.int, index: _Tensor, source: _Tensor, *, alpha: _Any = 1) -> _Tensor:
        """A copy with the slices of `alpha * source` added at the given indices of a dimension."""
    def index_add_(self, dim: _builtins.int, index: _Tensor, source: _Tensor, *, alpha: _Any = 1) -> _Tensor:
        """In-place version of `index_add`: add the slices of `alpha * source`."""
    def index_copy(self, dim: _builtins.int, index: _Tensor, source: _Tensor) -> _Tensor:
        """A copy with the slices of `source` at the given indices of a dimension."""
    def index_copy_(self, dim: _builtins.int, index: _Tensor, source: _Tensor) -> _Tensor:
        """In-place version of `index_copy`: write the slices of `source`."""
    def index_fill(self, dim: _builtins.int, index: _Tensor, value: _Any) -> _Tensor:
        """A copy with one value in the slices at the given indices of a dimension."""
    def index_fill_(self, dim: _builtins.int, index: _Tensor, value: _Any) -> _Tensor:
        """In-place version of `index_fill`: write one value into slices."""
    def index_put(self, indices: _Any, values: _Tensor, accumulate: _builtins.bool = False) -> _Tensor:
        """A copy with `values` written (or added) at indices: `out[indices] = values`."""
    def index_put_(self, indices: _Any, values: _Tensor, accumulate: _builtins.bool = False) -> _Tensor:
        """In-place version of `index_put`: write (or add) `values` at indices."""
    def index_reduce(self, dim: _builtins.int, index: _Tensor, source: _Tensor, reduce: _builtins.str, *, include_self: _builtins.bool = True) -> _Tensor:
        """A copy into which the slices of `source` are reduced at the given indices."""
    def index_reduce_(self, dim: _builtins.int, index: _Tensor, source: _Tensor, reduce: _builtins.str, *, include_self: _builtins.bool = True) -> _Tensor:
        """In-place version of `index_reduce`."""
    def index_select(self, dim: _builtins.int, index: _Tensor) -> _Tensor:
        """A copy of the slices of a dimension at the given indices."""
    def indices(self) -> _Tensor:
        """The indices of a coalesced COO tensor: a row for each sparse dimension."""
    def inner(self, other: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
        """The dot products of the last dimensions of two tensors."""
    def int(self, *, memory_format: _memory_format | None = None) -> _Tensor:
        """The tensor in int32: itself when it is that already."""
    def inverse(self) -> _Tensor:
        """The inverse of square matrices; `linalg.inv` is its newer name."""
    def is_coalesced(self) -> _builtins.bool:
        """Whether no index of a COO tensor occurs twice, and they are in order."""
    def is_complex(self) -> _builtins.bool:
        """Whether the dtype is complex."""
    def is_conj(self) -> _builtins.bool:
        """Whether a tensor shows the conjugates of the numbers in its memory."""
    def is_contiguous(self, memory_format: _memory_format = ...) -> _builtins.bool:
        """Whether the elements lie in memory in the order of their indices."""
    @property
    def is_cpu(self) -> _Any:
        """Whether the tensor is on the CPU."""
    @property
    def is_cuda(self) -> _Any:
        """Whether the tensor is on a CUDA GPU: False, always."""
    def is_floating_point(self) -> _builtins.bool:
        """Whether the dtype is a real floating-point one."""
    @property
    def is_ipu(self) -> _Any:
        """Whether the tensor is on a Graphcore IPU: False, always."""
    @property
    def is_maia(self) -> _Any:
        """Whether the tensor is on a Maia device: False, always."""
    @property
    def is_meta(self) -> _Any:
        """Whether the tensor is without elements, on the meta device."""
    @property
    def is_mkldnn(self) -> _Any:
        """Whether the tensor is in the layout of oneDNN: False, always."""
    @property
    def is_mps(self) -> _Any:
        """Whether the tensor is on an Apple GPU: False, always."""
    @property
    def is_mtia(self) -> _Any:
        """Whether the tensor is on an MTIA device: False, always."""
    def is_neg(self) -> _builtins.bool:
        """Whether a tensor shows the negatives of the numbers in its memory."""
    @property
    def is_nested(self) -> _Any:
        """Whether the tensor is a nested tensor: False, always."""
    def is_nonzero(self) -> _builtins.bool:
        """Whether the only element is not zero; tensors of several elements raise."""
    def is_pinned(self, device: _Any = None) -> _builtins.bool:
        """Whether the memory is pinned for an accelerator: False, always."""
    @property
    def is_quantized(self) -> _Any:
        """Whether the tensor is quantized: False, always."""
    def is_same_size(self, other: _Tensor) -> _builtins.bool:
        """Whether two tensors have the same shape."""
    def is_set_to(self, tensor: _Tensor) -> _builtins.bool:
        """Whether both are the same piece of memory, seen alike."""
    def is_shared(self) -> _builtins.bool:
        """Whether the tensor is in memory that other processes can share."""
    def is_signed(self) -> _builtins.bool:
        """Whether the dtype has negative numbers."""
    @property
    def is_sparse(self) -> _Any:
        """Whether the tensor is of a sparse layout: False, always."""
    @property
    def is_sparse_csr(self) -> _Any:
        """Whether the tensor is of the sparse layout CSR: False, always."""
    @property
    def is_vulkan(self) -> _Any:
        """Whether the tensor is on a Vulkan GPU: False, always."""
    @property
    def is_xla(self) -> _Any:
        """Whether the tensor is on an XLA device: False, always."""
    @property
    def is_xpu(self) -> _Any:
        """Whether the tensor is on an Intel GPU: False, always."""
    def isclose(self, other: _Tensor, rtol: _builtins.float = 1e-05, atol: _builtins.float = 1e-08, equal_nan: _builtins.bool = False) -> _Tensor:
        """Where `|input - other| <= atol + rtol * |other|`, as a tensor of bools."""
    def isfinite(self) -> _Tensor:
        """Where elements are neither infinite nor NaN, as a tensor of bools."""
    def isinf(self) -> _Tensor:
        """Where elements are inf or -inf, as a tensor of bools."""
    def isnan(self) -> _Tensor:
        """Where elements are NaN, as a tensor of bools."""
    def isneginf(self) -> _Tensor:
        """Where elements are -inf, as a tensor of bools."""
    def isposinf(self) -> _Tensor:
        """Where elements are inf, as a tensor of bools."""
    def isreal(self) -> _Tensor:
        """Where the imaginary part is 0, as a tensor of bools."""
    def istft(self, n_fft: _builtins.int, hop_length: _builtins.int | None = None, win_length: _builtins.int | None = None, window: _Tensor | None = None, center: _builtins.bool = True, normalized: _builtins.bool = False, onesided: _builtins.bool | None = None, length: _builtins.int | None = None, return_complex: _builtins.bool = False) -> _Tensor:
        """The signal whose `stft` comes closest to the input."""
    def item(self) -> _builtins.bool | _builtins.int | _builtins.float:
        """The only element, as a Python number."""
    @property
    def itemsize(self) -> _builtins.int:
        """The bytes of one element."""
    def kron(self, other: _Tensor) -> _Tensor:
        """The Kronecker product: `other` scaled by every element of `input`, laid out as blocks."""
    def kthvalue(self, k: _builtins.int, dim: _builtins.int = -1, keepdim: _builtins.bool = False) -> _kthvalue:
        """The k-th smallest element (k counts from 1) along a dimension, and where."""
    @property
    def layout(self) -> _Any:
        """How the elements are arranged: strided, always."""
    def lcm(self, other: _Any) -> _Tensor:
        """The least common multiple."""
    def lcm_(self, other: _Any) -> _Tensor:
        """In-place version of `lcm`."""
    def ldexp(self, other: _Any) -> _Tensor:
        """`input * 2**other`: a float from mantissa and exponent."""
    def ldexp_(self, other: _Any) -> _Tensor:
        """In-place version of `ldexp`."""
    def le(self, other: _Any) -> _Any:
        """Where elements of `input` are smaller or equal, as a tensor of bools."""
    def le_(self, other: _Any) -> _Tensor:
        """In-place version of `le`."""
    def lerp(self, end: _Tensor, weight: _Any) -> _Tensor:
        """`input + weight * (end - input)`: a point between two tensors."""
    def lerp_(self, end: _Tensor, weight: _Any) -> _Tensor:
        """In-place version of `lerp`."""
    def less(self, other: _Any) -> _Any:
        """Where elements of `input` are smaller, as a tensor of bools."""
    def less_(self, other: _Any) -> _Tensor:
        """In-place version of `lt`."""
    def less_equal(self, other: _Any) -> _Any:
        """Where elements of `input` are smaller or equal, as a tensor of bools."""
    def less_equal_(self, other: _Any) -> _Tensor:
        """In-place version of `le`."""
    def lgamma(self) -> _Tensor:
        """The logarithm of the absolute value of the gamma function."""
    def lgamma_(self) -> _Tensor:
        """In-place version of `lgamma`."""
    def log(self) -> _Tensor:
        """The natural logarithm; -inf at 0, NaN below."""
    def log10(self) -> _Tensor:
        """The logarithm to base 10."""
    def log10_(self) -> _Tensor:
        """In-place version of `log10`."""
    def log1p(self) -> _Tensor:
        """`log(1 + input)`, which stays exact for numbers near 0."""
    def log1p_(self) -> _Tensor:
        """In-place version of `log1p`."""
    def log2(self) -> _Tensor:
        """The logarithm to base 2."""
    def log2_(self) -> _Tensor:
        """In-place version of `log2`."""
    def log_(self) -> _Tensor:
        """In-place version of `log`."""
    def log_normal_(self, mean: _builtins.float = 1, std: _builtins.float = 2, *, generator: _Generator | _Stream | None = None) -> _Tensor:
        """Fill with numbers whose logarithm is normal."""
    def log_softmax(self, dim: _builtins.int, dtype: _dtype | None = None) -> _Tensor:
        """The logarithm of `softmax`, computed without its underflow."""
    def logaddexp(self, other: _Any) -> _Tensor:
        """`log(exp(input) + exp(other))`, without overflow on the way."""
    def logaddexp2(self, other: _Any) -> _Tensor:
        """`log2(2**input + 2**other)`, without overflow on the way."""
    def logcumsumexp(self, dim: _builtins.int) -> _Tensor:
        """log of the running sums of exp along a dimension, computed without overflow."""
    def logdet(self) -> _Tensor:
        """The logarithm of the determinant; NaN where it is negative."""
    def logical_and(self, other: _Any) -> _Tensor:
        """Where both elements are nonzero, as a tensor of bools."""
    def logical_and_(self, other: _Any) -> _Tensor:
        """In-place version of `logical_and`."""
    def logical_not(self) -> _Tensor:
        """Where elements are zero, as a tensor of bools."""
    def logical_not_(self) -> _Tensor:
        """In-place version of `logical_not`."""
    def logical_or(self, other: _Any) -> _Tensor:
        """Where at least one of two elements is nonzero, as a tensor of bools."""
    def logical_or_(self, other: _Any) -> _Tensor:
        """In-place version of `logical_or`."""
    def logical_xor(self, other: _Any) -> _Tensor:
        """Where exactly one of two elements is nonzero, as a tensor of bools."""
    def logical_xor_(self, other: _Any) -> _Tensor:
        """In-place version of `logical_xor`."""
    def logit(self, eps: _builtins.float | None = None) -> _Tensor:
        """`log(x / (1 - x))`: the inverse of the sigmoid."""
    def logit_(self, eps: _builtins.float | None = None) -> _Tensor:
        """In-place version of `logit`."""
    def logsumexp(self, dim: _builtins.int | _builtins.tuple[_builtins.int, ...] | _builtins.list[_builtins.int] | None, keepdim: _builtins.bool = False) -> _Tensor:
        """`log(sum(exp(input)))`, computed without overflow."""
    def long(self, *, memory_format: _memory_format | None = None) -> _Tensor:
        """The tensor in int64: itself when it is that already."""
    def lstsq(self, *args: _Any, **kwargs: _Any) -> _Any:
        """Removed: `linalg.lstsq(A, B)`, with the arguments the other way around."""
    def lt(self, other: _Any) -> _Any:
        """Where elements of `input` are smaller, as a tensor of bools."""
    def lt_(self, other: _Any) -> _Tensor:
        """In-place version of `lt`."""
    def lu(self, pivot: _builtins.bool = True, get_infos: _builtins.bool = False, out: _Any = None) -> _Sequence[_Tensor]:
        """L and U in one tensor and the pivots (old form of `linalg.lu_factor`)."""
    def lu_solve(self, LU_data: _Tensor, LU_pivots: _Tensor) -> _Tensor:
        """The solution of A X = b for the A that was factored."""
    @property
    def mH(self) -> _Tensor:
        """The conjugate transpose of a matrix, or of each in a batch."""
    @property
    def mT(self) -> _Tensor:
        """The transpose of a matrix, or of each in a batch, as a view."""
    def map2_(self, x: _Tensor, y: _Tensor, callable: _Callable[[_Any, _Any, _Any], _Any]) -> _Tensor:
        """Replace every element by what a function makes of it and of two other tensors' elements."""
    def map_(self, tensor: _Tensor, callable: _Callable[[_Any, _Any], _Any]) -> _Tensor:
        """Replace every element by what a Python function makes of it and another tensor's element."""
    def masked_fill(self, mask: _Tensor, value: _Any) -> _Tensor:
        """A copy with one value wherever the mask is true."""
    def masked_fill_(self, mask: _Tensor, value: _Any) -> _Tensor:
        """In-place version of `masked_fill`: write one value wherever the mask is true."""
    def masked_scatter(self, mask: _Tensor, source: _Tensor) -> _Tensor:
        """A copy with the elements of `source`, in order, wherever the mask is true."""
    def masked_scatter_(self, mask: _Tensor, source: _Tensor) -> _Tensor:
        """In-place version of `masked_scatter`: write elements of `source` wherever the mask is true."""
    def masked_select(self, mask: _Tensor) -> _Tensor:
        """The elements where the mask is true, in one dimension: a copy."""
    def matmul(self, other: _Tensor) -> _Tensor:
        """The matrix product `input @ other`; leading dimensions are batches, which broadcast."""
    def matrix_exp(self) -> _Tensor:
        """The matrix exponential: the sum of `A^k / k!`."""
    def matrix_power(self, n: _builtins.int) -> _Tensor:
        """The product of n copies of square matrices, or of their inverses."""
    def max(self, dim: _Any = None, keepdim: _builtins.bool = False, *, other: _Tensor | None = None) -> _Any:
        """The largest element; with `dim`, the largest along it and where; or of two."""
    def maximum(self, other: _Any) -> _Tensor:
        """The larger of two elements; NaN if one of them is NaN."""
    def mean(self, dim: _builtins.int | _builtins.tuple[_builtins.int, ...] | _builtins.list[_builtins.int] | None = None, keepdim: _builtins.bool = False, *, dtype: _dtype | None = None) -> _Tensor:
        """The mean over some dimensions, or over all."""
    def median(self, dim: _builtins.int | None = None, keepdim: _builtins.bool = False) -> _Any:
        """The (lower) median of all elements, or along a dimension, then also where it is."""
    def min(self, dim: _Any = None, keepdim: _builtins.bool = False, *, other: _Tensor | None = None) -> _Any:
        """The smallest element; with `dim`, the smallest along it and where; or of two."""
    def minimum(self, other: _Any) -> _Tensor:
        """The smaller of two elements; NaN if one of them is NaN."""
    def mm(self, mat2: _Tensor) -> _Tensor:
        """The product of two matrices."""
    def mode(self, dim: _builtins.int = -1, keepdim: _builtins.bool = False) -> _mode:
        """The most frequent element along a dimension, and where (the last place)."""
    def module_load(self, other: _Tensor, assign: _builtins.bool = False) -> _Tensor:
        """What a parameter or buffer becomes by loading a tensor of a state dict; override it."""
    def moveaxis(self, source: _builtins.int | _Sequence[_builtins.int], destination: _builtins.int | _Sequence[_builtins.int]) -> _Tensor:
        """A view with dimensions moved to other places; the rest keep their order."""
    def movedim(self, source: _builtins.int | _Sequence[_builtins.int], destination: _builtins.int | _Sequence[_builtins.int]) -> _Tensor:
        """A view with dimensions moved to other places; the rest keep their order."""
    def msort(self) -> _Tensor:
        """The elements in ascending order along the first dimension."""
    def mul(self, other: _Any) -> _Any:
        """`input * other`."""
    def mul_(self, other: _Any) -> _Tensor:
        """In-place version of `mul`."""
    def multinomial(self, num_samples: _builtins.int, replacement: _builtins.bool = False, *, generator: _Generator | _Stream | None = None, out: _Tensor | None = None) -> _Tensor:
        """Indices drawn with the probabilities that rows of weights give."""
    def multiply(self, other: _Any) -> _Any:
        """`input * other`."""
    def multiply_(self, other: _Any) -> _Tensor:
        """In-place version of `mul`."""
    def mv(self, vec: _Tensor) -> _Tensor:
        """The product of a matrix and a vector."""
    def mvlgamma(self, p: _builtins.int) -> _Tensor:
        """The multivariate log-gamma function of dimension p."""
    def mvlgamma_(self, p: _builtins.int) -> _Tensor:
        """In-place version of `mvlgamma`."""
    def nan_to_num(self, nan: _builtins.float | None = None, posinf: _builtins.float | None = None, neginf: _builtins.float | None = None) -> _Tensor:
        """NaN and infinities replaced by finite numbers."""
    def nan_to_num_(self, nan: _builtins.float | None = None, posinf: _builtins.float | None = None, neginf: _builtins.float | None = None) -> _Tensor:
        """In-place version of `nan_to_num`."""
    def nanmean(self, dim: _builtins.int | _builtins.tuple[_builtins.int, ...] | _builtins.list[_builtins.int] | None = None, keepdim: _builtins.bool = False, *, dtype: _dtype | None = None) -> _Tensor:
        """The mean of the elements that are not NaN; NaN where there is none."""
    def nanmedian(self, dim: _builtins.int | None = None, keepdim: _builtins.bool = False) -> _Any:
        """The (lower) median of the elements that are not NaN, and along a dimension also where."""
    def nanquantile(self, q: _builtins.float | _Tensor, dim: _builtins.int | None = None, keepdim: _builtins.bool = False, *, interpolation: _builtins.str = 'linear') -> _Tensor:
        """Quantiles of the elements that are not NaN."""
    def nansum(self, dim: _builtins.int | _builtins.tuple[_builtins.int, ...] | _builtins.list[_builtins.int] | None = None, keepdim: _builtins.bool = False, *, dtype: _dtype | None = None) -> _Tensor:
        """The sum of the elements that are not NaN."""
    def narrow(self, dim: _builtins.int, start: _Any, length: _builtins.int) -> _Tensor:
        """A view of `length` elements of a dimension, from `start` on."""
    def narrow_copy(self, dim: _builtins.int, start: _builtins.int, length: _builtins.int) -> _Tensor:
        """A copy of `length` elements of a dimension, from `start` on."""
    @property
    def nbytes(self) -> _builtins.int:
        """The bytes of all elements."""
    def ndimension(self) -> _builtins.int:
        """The number of dimensions."""
    def ne(self, other: _Any) -> _Any:
        """Where elements differ, as a tensor of bools; NaN differs from everything."""
    def ne_(self, other: _Any) -> _Tensor:
        """In-place version of `ne`."""
    def neg(self) -> _Tensor:
        """The negative of each element: `-input`."""
    def neg_(self) -> _Tensor:
        """In-place version of `neg`."""
    def negative(self) -> _Tensor:
        """The negative of each element: `-input`."""
    def negative_(self) -> _Tensor:
        """In-place version of `neg`."""
    def nelement(self) -> _builtins.int:
        """The number of elements."""
    def new(self, *args: _Any, size: _Any = None, device: _Any = None) -> _Tensor:
        """A tensor of this one's dtype, from sizes or from data."""
    def new_empty(self, *sizes: _Any, size: _Any = None, dtype: _dtype | None = None, **options: _Any) -> _Tensor:
        """An uninitialised tensor of this one's dtype."""
    def new_empty_strided(self, size: _Any, stride: _Any, *, dtype: _dtype | None = None, **options: _Any) -> _Tensor:
        """An uninitialised tensor of this one's dtype with the given strides."""
    def new_full(self, size: _Any, fill_value: _Any, *, dtype: _dtype | None = None, **options: _Any) -> _Tensor:
        """One value, in this tensor's dtype."""
    def new_ones(self, *sizes: _Any, size: _Any = None, dtype: _dtype | None = None, **options: _Any) -> _Tensor:
        """Ones of this tensor's dtype."""
    def new_tensor(self, data: _Any, *, dtype: _dtype | None = None, device: _Any = None, requires_grad: _builtins.bool = False, pin_memory: _builtins.bool = False) -> _Tensor:
        """A new leaf with a copy of `data`, of this tensor's dtype unless another is given."""
    def new_zeros(self, *sizes: _Any, size: _Any = None, dtype: _dtype | None = None, **options: _Any) -> _Tensor:
        """Zeros of this tensor's dtype."""
    def nextafter(self, other: _Tensor) -> _Tensor:
        """The next representable number after `input` towards `other`."""
    def nextafter_(self, other: _Tensor) -> _Tensor:
        """In-place version of `nextafter`."""
    def nonzero(self, *, as_tuple: _builtins.bool = False) -> _Any:
        """The indices of the elements that are not zero."""
    def nonzero_static(self, *, size: _builtins.int, fill_value: _builtins.int = -1) -> _Tensor:
        """The indices of elements that are not zero, in a result whose shape is known beforehand."""
    def norm(self, p: _builtins.float | _builtins.str | None = 'fro', dim: _builtins.int | _builtins.tuple[_builtins.int, ...] | _builtins.list[_builtins.int] | None = None, keepdim: _builtins.bool = False, dtype: _dtype | None = None) -> _Tensor:
        """The norm over all elements, or over some dimensions."""
    def normal_(self, mean: _builtins.float = 0, std: _builtins.float = 1, *, generator: _Generator | _Stream | None = None) -> _Tensor:
        """Fill with normal numbers."""
    def not_equal(self, other: _Any) -> _Any:
        """Where elements differ, as a tensor of bools; NaN differs from everything."""
    def not_equal_(self, other: _Any) -> _Tensor:
        """In-place version of `ne`."""
    def numel(self) -> _builtins.int:
        """The number of elements."""
    def numpy(self, *, force: _builtins.bool = False) -> _ndarray:
        """The values as an ndarray that shares memory with the tensor."""
    def orgqr(self, tau: _Tensor) -> _Tensor:
        """The first columns of the product of the reflections I - tau_i v_i v_i^H."""
    def ormqr(self, tau: _Tensor, other: _Tensor, left: _builtins.bool = True, transpose: _builtins.bool = False) -> _Tensor:
        """Q times `other`, for the Q that reflections describe, without making Q."""
    def outer(self, vec2: _Tensor) -> _Tensor:
        """The matrix of all products of two vectors' elements."""
    def permute(self, *args: _Any, dims: _Any = None) -> _Tensor:
        """A view with all dimensions in another order."""
    def pin_memory(self, device: _Any = None) -> _Tensor:
        """Raises: memory is pinned for an accelerator, and there is none."""
    def pinverse(self, rcond: _builtins.float = 1e-15) -> _Tensor:
        """The pseudo-inverse; `linalg.pinv` is its newer form."""
    def polygamma(self, n: _builtins.int) -> _Tensor:
        """The n-th derivative of the digamma function at each element."""
    def polygamma_(self, n: _builtins.int) -> _Tensor:
        """In-place version of `polygamma`."""
    def positive(self) -> _Tensor:
        """`+input`: the tensor itself, which must not be of bools."""
    def pow(self, exponent: _Any) -> _Tensor:
        """`input ** exponent`; either may be a number, but not both."""
    def pow_(self, exponent: _Any) -> _Tensor:
        """In-place version of `pow`."""
    def prelu(self, weight: _Tensor) -> _Tensor:
        """`x` above 0, `weight * x` below, with a weight for each channel or one for all."""
    def prod(self, dim: _builtins.int | None = None, keepdim: _builtins.bool = False, *, dtype: _dtype | None = None) -> _Tensor:
        """The product over one dimension, or over all."""
    def put(self, index: _Tensor, source: _Tensor, accumulate: _builtins.bool = False) -> _Tensor:
        """A copy with `source` written (or added) at flat positions."""
    def put_(self, index: _Tensor, source: _Tensor, accumulate: _builtins.bool = False) -> _Tensor:
        """In-place version of `put`: write (or add) `source` at flat positions."""
    def qr(self, some: _builtins.bool = True) -> _qr:
        """The QR decomposition; `linalg.qr` is its newer form."""
    def quantile(self, q: _builtins.float | _Tensor, dim: _builtins.int | None = None, keepdim: _builtins.bool = False, *, interpolation: _builtins.str = 'linear') -> _Tensor:
        """Quantiles of all elements, or along a dimension; several `q` come first in the result."""
    def rad2deg(self) -> _Tensor:
        """Radians as degrees: `input * 180 / pi`."""
    def rad2deg_(self) -> _Tensor:
        """In-place version of `rad2deg`."""
    def random_(self, *bounds: _builtins.int | None, to: _builtins.int | None = None, generator: _Generator | _Stream | None = None, **from_keyword: _builtins.int) -> _Tensor:
        """Fill with uniform integers: `random_()`, `random_(to)` or `random_(from, to)`."""
    def ravel(self) -> _Tensor:
        """All elements in one dimension: a view where possible, else a copy."""
    @property
    def real(self) -> _Tensor:
        """The real part, as a view; a real tensor itself."""
    @real.setter
    def real(self, value: _Any) -> None: ...
    def reciprocal(self) -> _Tensor:
        """`1 / input`."""
    def reciprocal_(self) -> _Tensor:
        """In-place version of `reciprocal`."""
    def register_hook(self, hook: _Callable[[_Tensor], _Tensor | None]) -> _RemovableHandle:
        """Call `hook(grad)` when this tensor's gradient is known; it may return another."""
    def register_post_accumulate_grad_hook(self, hook: _Callable[[_Tensor], None]) -> _RemovableHandle:
        """Call `hook(tensor)` after a gradient was added into this leaf's `.grad`."""
    def relu(self) -> _Tensor:
        """The rectified linear unit: `max(input, 0)`."""
    def relu_(self) -> _Tensor:
        """In-place version of `relu`."""
    def remainder(self, other: _Any) -> _Tensor:
        """The remainder of a division that rounds down, as Python's `%`."""
    def remainder_(self, other: _Any) -> _Tensor:
        """In-place version of `remainder`."""
    def renorm(self, p: _builtins.float, dim: _builtins.int, maxnorm: _builtins.float) -> _Tensor:
        """Scale each slice along `dim` down to a norm of at most `maxnorm`."""
    def renorm_(self, p: _builtins.float, dim: _builtins.int, maxnorm: _builtins.float) -> _Tensor:
        """In-place version of `renorm`."""
    def repeat(self, *args: _Any, repeats: _Any = None) -> _Tensor:
        """Copies of the tensor side by side, a number of times along each dimension."""
    def repeat_interleave(self, repeats: _Any = None, dim: _builtins.int | None = None, *, output_size: _builtins.int | None = None) -> _Tensor:
        """Each slice of a dimension, a number of times in a row."""
    def requires_grad_(self, requires_grad: _builtins.bool = True) -> _Tensor:
        """Ask for gradients of this leaf, or stop asking; returns the tensor."""
    def reshape(self, *args: _Any, shape: _Any = None) -> _Tensor:
        """The same elements in another shape: a view where possible, else a copy."""
    def reshape_as(self, other: _Tensor) -> _Tensor:
        """The same elements in the shape of another tensor: a view where possible, else a copy."""
    def resize(self, *sizes: _Any) -> _Tensor:
        """The tensor in another shape of as many elements; deprecated, write `reshape`."""
    def resize_(self, *args: _Any, size: _Any = None, memory_format: _Any = None) -> _Tensor:
        """Give this tensor another size; its memory grows when it must."""
    def resize_as(self, tensor: _Tensor) -> _Tensor:
        """The tensor in the shape of another of as many elements; deprecated, write `reshape`."""
    def resize_as_(self, the_template: _Tensor, *, memory_format: _Any = None) -> _Tensor:
        """Give this tensor the size of another; see `resize_`."""
    def resolve_conj(self) -> _Tensor:
        """A copy of a conjugate view, with the conjugates in its memory; any other tensor itself."""
    def resolve_neg(self) -> _Tensor:
        """A copy of a negative view, with the negatives in its memory; any other tensor itself."""
    def retain_grad(self) -> None:
        """Keep the gradient of a tensor that is no leaf in its `.grad`, too."""
    @property
    def retains_grad(self) -> _builtins.bool:
        """Whether backward will keep the gradient of this tensor, which is no leaf, in its `.grad`."""
    def roll(self, shifts: _Any, dims: _Any = ...) -> _Tensor:
        """A copy with elements shifted; what falls off the end comes back at the start."""
    def rot90(self, k: _builtins.int = 1, dims: _Sequence[_builtins.int] = ...) -> _Tensor:
        """A copy rotated by quarter turns in the plane of two dimensions."""
    def round(self, *, decimals: _builtins.int | None = None) -> _Tensor:
        """The nearest integer, or multiple of 10^-decimals; halves go to the even neighbour."""
    def round_(self, *, decimals: _builtins.int | None = None) -> _Tensor:
        """In-place version of `round`."""
    def row_indices(self) -> _Tensor:
        """The row of each value of a compressed tensor."""
    def rsqrt(self) -> _Tensor:
        """The reciprocal of the square root: `1 / sqrt(input)`."""
    def rsqrt_(self) -> _Tensor:
        """In-place version of `rsqrt`."""
    def scatter(self, dim: _builtins.int, index: _Tensor, src: _Any = None, *, value: _Any = None, reduce: _builtins.str | None = None) -> _Tensor:
        """A copy with `out[index[i, j], j] = src[i, j]` (for `dim=0`), or with one value."""
    def scatter_(self, dim: _builtins.int, index: _Tensor, src: _Any = None, *, value: _Any = None, reduce: _builtins.str | None = None) -> _Tensor:
        """In-place version of `scatter`: write `src`, or one value, at indices of a dimension."""
    def scatter_add(self, dim: _builtins.int, index: _Tensor, src: _Tensor) -> _Tensor:
        """A copy with `out[index[i, j], j] += src[i, j]` (for `dim=0`)."""
    def scatter_add_(self, dim: _builtins.int, index: _Tensor, src: _Tensor) -> _Tensor:
        """In-place version of `scatter_add`: add `src` at indices of a dimension."""
    def scatter_reduce(self, dim: _builtins.int, index: _Tensor, src: _Tensor, reduce: _builtins.str, *, include_self: _builtins.bool = True) -> _Tensor:
        """A copy into which `src` is reduced at indices of a dimension."""
    def scatter_reduce_(self, dim: _builtins.int, index: _Tensor, src: _Tensor, reduce: _builtins.str, *, include_self: _builtins.bool = True) -> _Tensor:
        """In-place version of `scatter_reduce`."""
    def select(self, dim: _builtins.int, index: _Any) -> _Tensor:
        """A view at one index of a dimension, which is removed."""
    def select_scatter(self, src: _Tensor, dim: _builtins.int, index: _builtins.int) -> _Tensor:
        """A copy with `src` at one index of a dimension: what writing to `select` gives."""
    def set_(self, source: _Any = None, storage_offset: _Any = None, size: _Any = None, stride: _Any = None) -> _Tensor:
        """Let this tensor share another's memory, or lie anywhere in a storage."""
    def sgn(self) -> _Tensor:
        """The sign of real numbers, the direction (`input / |input|`) of complex ones; 0 at 0."""
    def sgn_(self) -> _Tensor:
        """In-place version of `sgn`."""
    def share_memory_(self) -> _Tensor:
        """Move the tensor to memory that other processes can share, and return it."""
    def short(self, *, memory_format: _memory_format | None = None) -> _Tensor:
        """The tensor in int16: itself when it is that already."""
    def sigmoid(self) -> _Tensor:
        """The logistic function `1 / (1 + exp(-input))`, which has values between 0 and 1."""
    def sigmoid_(self) -> _Tensor:
        """In-place version of `sigmoid`."""
    def sign(self) -> _Tensor:
        """-1, 0 or 1: the sign of each element; 0 for NaN."""
    def sign_(self) -> _Tensor:
        """In-place version of `sign`."""
    def signbit(self) -> _Tensor:
        """Where the sign bit is set, as a tensor of bools: for negative numbers and for -0."""
    def sin(self) -> _Tensor:
        """The sine of angles in radians."""
    def sin_(self) -> _Tensor:
        """In-place version of `sin`."""
    def sinc(self) -> _Tensor:
        """`sin(pi * input) / (pi * input)`, and 1 at 0."""
    def sinc_(self) -> _Tensor:
        """In-place version of `sinc`."""
    def sinh(self) -> _Tensor:
        """The hyperbolic sine: `(exp(input) - exp(-input)) / 2`."""
    def sinh_(self) -> _Tensor:
        """In-place version of `sinh`."""
    def size(self, dim: _builtins.int | None = None) -> _Any:
        """The shape, or the length of one dimension."""
    def slice_scatter(self, src: _Tensor, dim: _builtins.int = 0, start: _builtins.int | None = None, end: _builtins.int | None = None, step: _builtins.int = 1) -> _Tensor:
        """A copy with `src` in a slice of a dimension: what writing to the slice gives."""
    def slogdet(self) -> _linalg_slogdet:
        """The sign (or phase) of the determinant and the logarithm of its absolute value."""
    def smm(self, *args: _Any, **kwargs: _Any) -> _Any:
        """The product of a sparse and a strided matrix, as a sparse one."""
    def softmax(self, dim: _builtins.int, dtype: _dtype | None = None) -> _Tensor:
        """exp(x) divided by its sum along a dimension."""
    def solve(self, *args: _Any, **kwargs: _Any) -> _Any:
        """Removed: `linalg.solve(A, B)`, with the arguments the other way around."""
    def sort(self, dim: _builtins.int = -1, descending: _builtins.bool = False, stable: _builtins.bool | None = None) -> _sort:
        """The elements in order along a dimension, and where they were."""
    def sparse_dim(self) -> _builtins.int:
        """How many dimensions are sparse."""
    def sparse_mask(self, mask: _Tensor) -> _Tensor:
        """The elements at the places that a sparse tensor lists."""
    def sparse_resize_(self, *args: _Any, **kwargs: _Any) -> _Any:
        """Change the size of a COO tensor, keeping the listed elements."""
    def sparse_resize_and_clear_(self, *args: _Any, **kwargs: _Any) -> _Any:
        """Change the size of a COO tensor and forget all elements."""
    def split(self, split_size: _Any, dim: _builtins.int = 0) -> _builtins.tuple[_Tensor, ...]:
        """Views of pieces of a given size, or of several given sizes."""
    def split_with_sizes(self, split_sizes: _Any, dim: _builtins.int = 0) -> _builtins.tuple[_Tensor, ...]:
        """Views of pieces of given sizes."""
    def sqrt(self) -> _Tensor:
        """The square root; NaN below 0."""
    def sqrt_(self) -> _Tensor:
        """In-place version of `sqrt`."""
    def square(self) -> _Tensor:
        """`input ** 2`."""
    def square_(self) -> _Tensor:
        """In-place version of `square`."""
    def squeeze(self, dim: _Any = None, *more: _builtins.int) -> _Tensor:
        """A view without dimensions of size 1: all, one, or some."""
    def squeeze_(self, dim: _Any = None, *more: _builtins.int) -> _Tensor:
        """In-place version of `squeeze`: remove dimensions of size 1 from this tensor."""
    def sspaddmm(self, *args: _Any, **kwargs: _Any) -> _Any:
        """beta · input + alpha · mat1 · mat2, as a sparse matrix."""
    def std(self, dim: _builtins.int | _builtins.tuple[_builtins.int, ...] | _builtins.list[_builtins.int] | None | _builtins.bool = None, unbiased: _builtins.bool = ..., keepdim: _builtins.bool = False, *, correction: _builtins.float | None = ...) -> _Tensor:
        """The standard deviation: the square root of `var`."""
    def stft(self, n_fft: _builtins.int, hop_length: _builtins.int | None = None, win_length: _builtins.int | None = None, window: _Tensor | None = None, center: _builtins.bool = True, pad_mode: _builtins.str = 'reflect', normalized: _builtins.bool = False, onesided: _builtins.bool | None = None, return_complex: _builtins.bool | None = None, align_to_window: _builtins.bool | None = None) -> _Tensor:
        """The Fourier transforms of overlapping windows of a signal: (..., frequency, frame)."""
    def storage(self) -> _TypedStorage:
        """The memory, counted in elements. Deprecated: use `untyped_storage`."""
    def storage_offset(self) -> _builtins.int:
        """How many elements into its storage the tensor begins."""
    def storage_type(self) -> _Any:
        """The legacy class of the typed storage."""
    def stride(self, dim: _builtins.int | None = None) -> _Any:
        """How many elements lie between neighbours in memory, in all dimensions or in one."""
    def sub(self, other: _Any, *, alpha: _builtins.complex = 1) -> _Tensor:
        """`input - alpha * other`."""
    def sub_(self, other: _Any, *, alpha: _builtins.complex = 1) -> _Tensor:
        """In-place version of `sub`."""
    def subtract(self, other: _Any, *, alpha: _builtins.complex = 1) -> _Tensor:
        """`input - alpha * other`."""
    def subtract_(self, other: _Any, *, alpha: _builtins.complex = 1) -> _Tensor:
        """In-place version of `sub`."""
    def sum(self, dim: _builtins.int | _builtins.tuple[_builtins.int, ...] | _builtins.list[_builtins.int] | None = None, keepdim: _builtins.bool = False, *, dtype: _dtype | None = None) -> _Tensor:
        """The sum over some dimensions, or over all."""
    def sum_to_size(self, *size: _Any) -> _Tensor:
        """Sum the dimensions away that broadcasting from `size` would have added or stretched."""
    def svd(self, some: _builtins.bool = True, compute_uv: _builtins.bool = True) -> _svd:
        """The singular value decomposition with V instead of Vh; `linalg.svd` is its newer form."""
    def swapaxes(self, axis0: _builtins.int, axis1: _builtins.int) -> _Tensor:
        """Swap two dimensions; NumPy's name for `transpose`."""
    def swapaxes_(self, axis0: _builtins.int, axis1: _builtins.int) -> _Tensor:
        """In-place version of `swapaxes`: swap two dimensions of this tensor."""
    def swapdims(self, dim0: _builtins.int, dim1: _builtins.int) -> _Tensor:
        """Swap two dimensions; another name for `transpose`."""
    def swapdims_(self, dim0: _builtins.int, dim1: _builtins.int) -> _Tensor:
        """In-place version of `transpose`: swap two dimensions of this tensor."""
    def symeig(self, *args: _Any, **kwargs: _Any) -> _Any:
        """Removed: `linalg.eigh(A, UPLO)`, which reads the lower triangle unless told otherwise."""
    def t(self) -> _Tensor:
        """The transpose of a matrix, as a view; vectors and numbers stay as they are."""
    def t_(self) -> _Tensor:
        """In-place version of `t`: transpose this matrix."""
    def take(self, index: _Tensor) -> _Tensor:
        """The elements at flat positions, as if `input` had one dimension."""
    def take_along_dim(self, indices: _Tensor, dim: _builtins.int | None = None) -> _Tensor:
        """Gather along a dimension; the other dimensions broadcast."""
    def tan(self) -> _Tensor:
        """The tangent of angles in radians."""
    def tan_(self) -> _Tensor:
        """In-place version of `tan`."""
    def tanh(self) -> _Tensor:
        """The hyperbolic tangent, which has values between -1 and 1."""
    def tanh_(self) -> _Tensor:
        """In-place version of `tanh`."""
    def tensor_split(self, indices_or_sections: _builtins.int | _Sequence[_builtins.int] | _Tensor | None = None, dim: _builtins.int = 0, *, sections: _builtins.int | _Sequence[_builtins.int] | _Tensor | None = None, indices: _builtins.int | _Sequence[_builtins.int] | _Tensor | None = None) -> _builtins.tuple[_Tensor, ...]:
        """Views between the given indices, or of a number of nearly equal sections."""
    def tile(self, *args: _Any, dims: _Any = None) -> _Tensor:
        """Copies of the tensor side by side; missing leading numbers count as 1."""
    def to(self, *args: _Any, device: _Any = None, dtype: _Any = None, non_blocking: _builtins.bool = False, copy: _builtins.bool = False, memory_format: _memory_format | None = None, other: _Tensor | None = None) -> _Tensor:
        """The tensor in another dtype or on another device: itself when nothing changes."""
    def to_dense(self, dtype: _dtype | None = None, *, masked_grad: _builtins.bool | None = None) -> _Tensor:
        """The tensor itself, all tensors being dense, in another dtype if one is given."""
    def to_padded_tensor(self, padding: _builtins.float, output_size: _Any = None) -> _Tensor:
        """The components of a nested tensor side by side, filled up to one size."""
    def to_sparse(self, sparse_dim: _builtins.int | None = None, *, layout: _Any = None, blocksize: _Any = None, dense_dim: _builtins.int | None = None) -> _Tensor:
        """A sparse copy that lists the elements other than zero."""
    def to_sparse_bsc(self, blocksize: _Any, dense_dim: _builtins.int | None = None) -> _Tensor:
        """A copy whose blocks are listed column by column."""
    def to_sparse_bsr(self, blocksize: _Any, dense_dim: _builtins.int | None = None) -> _Tensor:
        """A copy whose blocks are listed row by row."""
    def to_sparse_coo(self) -> _Tensor:
        """A copy in coordinate format."""
    def to_sparse_csc(self, dense_dim: _builtins.int | None = None) -> _Tensor:
        """A copy whose elements are listed column by column."""
    def to_sparse_csr(self, dense_dim: _builtins.int | None = None) -> _Tensor:
        """A copy whose elements are listed row by row."""
    def tolist(self) -> _Any:
        """Nested lists of Python numbers; a number for a 0-dim tensor."""
    def topk(self, k: _builtins.int, dim: _builtins.int = -1, largest: _builtins.bool = True, sorted: _builtins.bool = True) -> _topk:
        """The k largest (or smallest) elements along a dimension, in order, and where."""
    def trace(self) -> _Tensor:
        """The sum of a matrix's diagonal."""
    def transpose(self, dim0: _builtins.int, dim1: _builtins.int) -> _Tensor:
        """A view with two dimensions swapped."""
    def transpose_(self, dim0: _builtins.int, dim1: _builtins.int) -> _Tensor:
        """In-place version of `transpose`: swap two dimensions of this tensor."""
    def triangular_solve(self, A: _Tensor, upper: _builtins.bool = True, transpose: _builtins.bool = False, unitriangular: _builtins.bool = False) -> _triangular_solve:
        """The solution of A X = b for triangular A, and A itself (old form of `solve_triangular`)."""
    def tril(self, diagonal: _builtins.int = 0) -> _Tensor:
        """The lower triangle of matrices: a copy with zeros above a diagonal."""
    def tril_(self, diagonal: _builtins.int = 0) -> _Tensor:
        """In-place version of `tril`."""
    def triu(self, diagonal: _builtins.int = 0) -> _Tensor:
        """The upper triangle of matrices: a copy with zeros below a diagonal."""
    def triu_(self, diagonal: _builtins.int = 0) -> _Tensor:
        """In-place version of `triu`."""
    def true_divide(self, other: _Any) -> _Tensor:
        """`input / other`; integers give the default float."""
    def true_divide_(self, other: _Any, *, rounding_mode: _builtins.str | None = ...) -> _Tensor:
        """In-place version of `div`."""
    def trunc(self) -> _Tensor:
        """Each element without its fraction: rounded towards zero."""
    def trunc_(self) -> _Tensor:
        """In-place version of `trunc`."""
    def type(self, dtype: _Any = None, non_blocking: _builtins.bool = False) -> _Any:
        """The legacy name of the tensor's type, or the tensor converted to another type."""
    def type_as(self, other: _Tensor) -> _Tensor:
        """The tensor in the dtype of another."""
    def unbind(self, dim: _builtins.int = 0) -> _builtins.tuple[_Tensor, ...]:
        """Views at every index of a dimension, which is removed."""
    def unflatten(self, dim: _builtins.int, sizes: _Any) -> _Tensor:
        """Split one dimension into several."""
    def unfold(self, dimension: _builtins.int, size: _builtins.int, step: _builtins.int) -> _Tensor:
        """Windows of `size` elements of a dimension, `step` apart, as a new last dimension of a view."""
    def uniform_(self, from_: _builtins.float = 0, to: _builtins.float = 1, *, generator: _Generator | _Stream | None = None, **from_keyword: _builtins.float) -> _Tensor:
        """Fill with uniform numbers from [from, to)."""
    def unique(self, sorted: _builtins.bool = True, return_inverse: _builtins.bool = False, return_counts: _builtins.bool = False, dim: _builtins.int | None = None) -> _Any:
        """The distinct elements in order, or the distinct slices along a dimension."""
    def unique_consecutive(self, return_inverse: _builtins.bool = False, return_counts: _builtins.bool = False, dim: _builtins.int | None = None) -> _Any:
        """The first element of each run of equal elements (or slices along a dimension)."""
    def unsafe_chunk(self, chunks: _builtins.int, dim: _builtins.int = 0) -> _builtins.tuple[_Tensor, ...]:
        """At most `chunks` pieces of equal size that may each be written to; see `unsafe_split`."""
    def unsafe_split(self, split_size: _builtins.int, dim: _builtins.int = 0) -> _builtins.tuple[_Tensor, ...]:
        """Pieces of a given size that may each be written to."""
    def unsafe_split_with_sizes(self, split_sizes: _Any, dim: _builtins.int = 0) -> _builtins.tuple[_Tensor, ...]:
        """Pieces of given sizes that may each be written to; see `unsafe_split`."""
    def unsqueeze(self, dim: _builtins.int) -> _Tensor:
        """A view with a dimension of size 1 inserted."""
    def unsqueeze_(self, dim: _builtins.int) -> _Tensor:
        """In-place version of `unsqueeze`: insert a dimension of size 1 into this tensor."""
    def untyped_storage(self) -> _UntypedStorage:
        """The memory, counted in bytes."""
    def values(self) -> _Tensor:
        """The listed elements of a sparse tensor; gradients flow through them."""
    def var(self, dim: _builtins.int | _builtins.tuple[_builtins.int, ...] | _builtins.list[_builtins.int] | None | _builtins.bool = None, unbiased: _builtins.bool = ..., keepdim: _builtins.bool = False, *, correction: _builtins.float | None = ...) -> _Tensor:
        """The variance: squared deviations from the mean, summed and divided by `n - correction`."""
    def vdot(self, other: _Tensor) -> _Tensor:
        """The dot product with the first vector conjugated."""
    def view(self, *shape: _Any, size: _Any = None, dtype: _Any = None) -> _Tensor:
        """The same elements in another shape, or the same bits as another dtype, without a copy."""
    def view_as(self, other: _Tensor) -> _Tensor:
        """The same elements in the shape of another tensor, without a copy."""
    @property
    def volatile(self) -> _builtins.bool:
        ...
    def vsplit(self, indices_or_sections: _builtins.int | _Sequence[_builtins.int]) -> _builtins.tuple[_Tensor, ...]:
        """Split along the first dimension."""
    def where(self, condition: _Tensor, other: _Any) -> _Tensor:
        """The tensor's own elements where the condition holds, else those of `other`."""
    def xlogy(self, other: _Any) -> _Tensor:
        """`input * log(other)`, and 0 where input is 0."""
    def xlogy_(self, other: _Any) -> _Tensor:
        """In-place version of `xlogy`."""
    def zero_(self) -> _Tensor:
        """Set every element to zero."""
