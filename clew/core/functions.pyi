"""What `clew.<name>` is: written by `python -m tests.type_stubs`."""

from typing import Any as _Any
from clew.backend.dtypes import dtype as _dtype
from clew.backend.layout import memory_format as _memory_format
from clew.backend.mt19937 import Generator as _Stream
from clew.core.size import Size as _Size
from clew.core.tensor import Tensor as _Tensor
from clew.ops.create.random import Generator as _Generator
from clew.ops.define.return_types import aminmax as _aminmax
from clew.ops.define.return_types import cummax as _cummax
from clew.ops.define.return_types import cummin as _cummin
from clew.ops.define.return_types import geqrf as _geqrf
from clew.ops.define.return_types import histogram as _histogram
from clew.ops.define.return_types import histogramdd as _histogramdd
from clew.ops.define.return_types import kthvalue as _kthvalue
from clew.ops.define.return_types import linalg_slogdet as _linalg_slogdet
from clew.ops.define.return_types import lu_unpack as _lu_unpack
from clew.ops.define.return_types import median as _median
from clew.ops.define.return_types import mode as _mode
from clew.ops.define.return_types import nanmedian as _nanmedian
from clew.ops.define.return_types import qr as _qr
from clew.ops.define.return_types import sort as _sort
from clew.ops.define.return_types import svd as _svd
from clew.ops.define.return_types import topk as _topk
from clew.ops.define.return_types import triangular_solve as _triangular_solve
from collections.abc import Sequence as _Sequence
from numpy import ndarray as _ndarray
import builtins as _builtins

bfloat16: _dtype
bool: _dtype
cdouble: _dtype
cfloat: _dtype
chalf: _dtype
complex128: _dtype
complex32: _dtype
complex64: _dtype
double: _dtype
float: _dtype
float16: _dtype
float32: _dtype
float64: _dtype
float8_e4m3fn: _dtype
float8_e4m3fnuz: _dtype
float8_e5m2: _dtype
float8_e5m2fnuz: _dtype
float8_e8m0fnu: _dtype
half: _dtype
int: _dtype
int16: _dtype
int32: _dtype
int64: _dtype
int8: _dtype
long: _dtype
qint32: _dtype
qint8: _dtype
quint2x4: _dtype
quint4x2: _dtype
quint8: _dtype
short: _dtype
uint16: _dtype
uint32: _dtype
uint64: _dtype
uint8: _dtype
def BFloat16Tensor(*args: _Any, device: _Any = None) -> _Any:
    """Tensors of bfloat16, as PyTorch once named them: from sizes or from data."""
def BoolTensor(*args: _Any, device: _Any = None) -> _Any:
    """Tensors of bool, as PyTorch once named them: from sizes or from data."""
def ByteTensor(*args: _Any, device: _Any = None) -> _Any:
    """Tensors of uint8, as PyTorch once named them: from sizes or from data."""
def CharTensor(*args: _Any, device: _Any = None) -> _Any:
    """Tensors of int8, as PyTorch once named them: from sizes or from data."""
def ComplexDoubleTensor(*args: _Any, device: _Any = None) -> _Any:
    """Tensors of complex128, as PyTorch once named them: from sizes or from data."""
def ComplexFloatTensor(*args: _Any, device: _Any = None) -> _Any:
    """Tensors of complex64, as PyTorch once named them: from sizes or from data."""
def DoubleTensor(*args: _Any, device: _Any = None) -> _Any:
    """Tensors of float64, as PyTorch once named them: from sizes or from data."""
def FloatTensor(*args: _Any, device: _Any = None) -> _Any:
    """Tensors of float32, as PyTorch once named them: from sizes or from data."""
def HalfTensor(*args: _Any, device: _Any = None) -> _Any:
    """Tensors of float16, as PyTorch once named them: from sizes or from data."""
def IntTensor(*args: _Any, device: _Any = None) -> _Any:
    """Tensors of int32, as PyTorch once named them: from sizes or from data."""
def LongTensor(*args: _Any, device: _Any = None) -> _Any:
    """Tensors of int64, as PyTorch once named them: from sizes or from data."""
def ShortTensor(*args: _Any, device: _Any = None) -> _Any:
    """Tensors of int16, as PyTorch once named them: from sizes or from data."""
def _addmm_activation(input: _Tensor, mat1: _Tensor, mat2: _Tensor, *, beta: _builtins.int | _builtins.float | _builtins.complex = 1, alpha: _builtins.int | _builtins.float | _builtins.complex = 1, use_gelu: _builtins.bool = False, out: _Any = None) -> _Tensor:
    """`addmm` and `relu`, or `gelu`."""
def _assert(condition: _Any, message: _builtins.str) -> None:
    """Raise unless a condition is true; in a traced program, when it runs."""
def _chunk_cat(tensors: _Any, dim: _builtins.int, num_chunks: _builtins.int, *, out: _Any = None) -> _Tensor:
    """The tensors cut into chunks along a dimension, and the chunks of each number joined."""
def _convert_indices_from_coo_to_csr(input: _Tensor, size: _builtins.int, *, out_int32: _builtins.bool = False, out: _Any = None) -> _Tensor:
    """Where each row begins, from the row of every element."""
def _convert_indices_from_csr_to_coo(crow_indices: _Tensor, col_indices: _Tensor, *, out_int32: _builtins.bool = False, transpose: _builtins.bool = False, out: _Any = None) -> _Tensor:
    """The row and the column of every element, from where each row begins."""
def _dirichlet_grad(x: _Tensor, alpha: _Tensor, total: _Tensor) -> _Tensor:
    """The derivative of a share by its weight, over the share of the others."""
def _int_mm(self: _Tensor, mat2: _Tensor, *, out: _Any = None) -> _Tensor:
    """The product of two matrices of int8, in int32."""
def _native_batch_norm_legit(input: _Tensor, weight: _Tensor | None, bias: _Tensor | None, *rest: _Any, out: _Any = None) -> _builtins.tuple[_Tensor, _Tensor, _Tensor]:
    ...
def _neg_view(input: _Tensor) -> _Tensor:
    """The negative of a tensor, as a view."""
def _safe_softmax(input: _Tensor, dim: _builtins.int, dtype: _dtype | None = None) -> _Tensor:
    """`softmax`, but zeros where all elements are -inf."""
def _sample_dirichlet(input: _Tensor, generator: _Generator | _Stream | None = None) -> _Tensor:
    """A Dirichlet sample along the last dimension."""
def _segment_reduce(data: _Tensor, reduce: _builtins.str, *, lengths: _Tensor | None = None, indices: _Tensor | None = None, offsets: _Tensor | None = None, axis: _builtins.int = 0, unsafe: _builtins.bool = False, initial: _builtins.float | None = None) -> _Tensor:
    """Reduces consecutive segments of a dimension, one result for each."""
def _softmax_backward_data(grad_output: _Tensor, output: _Tensor, dim: _builtins.int, input_dtype: _dtype) -> _Tensor:
    """The gradient by the input of a softmax."""
def _standard_gamma(input: _Tensor, generator: _Generator | _Stream | None = None) -> _Tensor:
    """A gamma number of scale 1 for each shape parameter."""
def _standard_gamma_grad(self: _Tensor, output: _Tensor) -> _Tensor:
    """The derivative of a gamma number by its shape parameter."""
def _unsafe_masked_index(input: _Tensor, mask: _Tensor, indices: _Sequence[_Tensor | None], fill: _builtins.complex) -> _Tensor:
    ...
def _unsafe_masked_index_put_accumulate(input: _Tensor, mask: _Tensor, indices: _Sequence[_Tensor | None], values: _Tensor) -> _Tensor:
    ...
def abs(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """The absolute value; of complex numbers, their distance from 0."""
def abs_(self: _Tensor) -> _Tensor:
    """In-place version of `abs`."""
def absolute(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """The absolute value; of complex numbers, their distance from 0."""
def acos(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """The inverse of the cosine, in [0, pi]; NaN outside of [-1, 1]."""
def acos_(self: _Tensor) -> _Tensor:
    """In-place version of `acos`."""
def acosh(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """The inverse of the hyperbolic cosine; NaN below 1."""
def acosh_(self: _Tensor) -> _Tensor:
    """In-place version of `acosh`."""
def adaptive_avg_pool1d(input: _Tensor, output_size: _Any) -> _Tensor:
    """Averages over so many nearly equal windows along the last dimension."""
def adaptive_max_pool1d(input: _Tensor, output_size: _Any, return_indices: _builtins.bool = False) -> _builtins.tuple[_Tensor, _Tensor]:
    """Alias of `adaptive_max_pool1d` with `return_indices=True`."""
def add(input: _Any, other: _Any, *, alpha: _builtins.complex = 1, out: _Any = None) -> _Tensor:
    """`input + alpha * other`."""
def addbmm(input: _Tensor, batch1: _Tensor, batch2: _Tensor, *, beta: _builtins.int | _builtins.float | _builtins.complex = 1, alpha: _builtins.int | _builtins.float | _builtins.complex = 1, out: _Any = None) -> _Tensor:
    """`beta * input` plus `alpha` times the sum of the products of two batches' matrices."""
def addcdiv(input: _Tensor, tensor1: _Tensor, tensor2: _Tensor, *, value: _Any = 1, out: _Any = None) -> _Tensor:
    """`input + value * tensor1 / tensor2`."""
def addcmul(input: _Tensor, tensor1: _Tensor, tensor2: _Tensor, *, value: _Any = 1, out: _Any = None) -> _Tensor:
    """`input + value * tensor1 * tensor2`."""
def addmm(input: _Tensor, mat1: _Tensor, mat2: _Tensor, *, beta: _builtins.int | _builtins.float | _builtins.complex = 1, alpha: _builtins.int | _builtins.float | _builtins.complex = 1, out: _Any = None) -> _Tensor:
    """`beta * input + alpha * (mat1 @ mat2)`."""
def addmv(input: _Tensor, mat: _Tensor, vec: _Tensor, *, beta: _builtins.int | _builtins.float | _builtins.complex = 1, alpha: _builtins.int | _builtins.float | _builtins.complex = 1, out: _Any = None) -> _Tensor:
    """`beta * input + alpha * (mat @ vec)`."""
def addmv_(input: _Tensor, mat: _Tensor, vec: _Tensor, *, beta: _builtins.int | _builtins.float | _builtins.complex = 1, alpha: _builtins.int | _builtins.float | _builtins.complex = 1) -> _Tensor:
    """In-place version of `addmv`."""
def addr(input: _Tensor, vec1: _Tensor, vec2: _Tensor, *, beta: _builtins.int | _builtins.float | _builtins.complex = 1, alpha: _builtins.int | _builtins.float | _builtins.complex = 1, out: _Any = None) -> _Tensor:
    """`beta * input + alpha * outer(vec1, vec2)`."""
def adjoint(input: _Tensor) -> _Tensor:
    """The conjugate transpose of a matrix, or of each in a batch."""
def affine_grid_generator(theta: _Tensor, size: _Sequence[_builtins.int], align_corners: _builtins.bool) -> _Tensor:
    """The points to which the matrices `theta` move a regular grid over (N, C, *spatial)."""
def alias_copy(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """`alias`, but the result has memory of its own instead of sharing that of `input`."""
def all(input: _Tensor, dim: _builtins.int | _builtins.tuple[_builtins.int, ...] | _builtins.list[_builtins.int] | None = None, keepdim: _builtins.bool = False, *, out: _Any = None) -> _Tensor:
    """Whether all elements are nonzero."""
def allclose(input: _Tensor, other: _Tensor, rtol: _builtins.float = 1e-05, atol: _builtins.float = 1e-08, equal_nan: _builtins.bool = False) -> _builtins.bool:
    """Whether all elements are close, in the sense of `isclose`; a Python bool."""
def alpha_dropout(input: _Tensor, p: _builtins.float, train: _builtins.bool) -> _Tensor:
    ...
def alpha_dropout_(input: _Tensor, p: _builtins.float, train: _builtins.bool) -> _Tensor:
    """`alpha_dropout` in place."""
def amax(input: _Tensor, dim: _builtins.int | _builtins.tuple[_builtins.int, ...] | _builtins.list[_builtins.int] | None = ..., keepdim: _builtins.bool = False, *, out: _Any = None) -> _Tensor:
    """The largest value over some dimensions; equal ones share the gradient."""
def amin(input: _Tensor, dim: _builtins.int | _builtins.tuple[_builtins.int, ...] | _builtins.list[_builtins.int] | None = ..., keepdim: _builtins.bool = False, *, out: _Any = None) -> _Tensor:
    """The smallest value over some dimensions; equal ones share the gradient."""
def aminmax(input: _Tensor, *, dim: _builtins.int | None = None, keepdim: _builtins.bool = False, out: _Any = None) -> _aminmax:
    """The smallest and the largest value, over one dimension or over all."""
def angle(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """The angle of complex numbers in radians; 0 or pi for real ones."""
def any(input: _Tensor, dim: _builtins.int | _builtins.tuple[_builtins.int, ...] | _builtins.list[_builtins.int] | None = None, keepdim: _builtins.bool = False, *, out: _Any = None) -> _Tensor:
    """Whether some element is nonzero."""
def arange(*bounds: _Any, start: _Any = None, end: _Any = None, step: _Any = None, out: _Tensor | None = None, dtype: _dtype | None = None, **options: _Any) -> _Tensor:
    """Numbers from start to before end, `step` apart: `arange(end)` or `arange(start, end, step)`."""
def arccos(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """The inverse of the cosine, in [0, pi]; NaN outside of [-1, 1]."""
def arccos_(self: _Tensor) -> _Tensor:
    """In-place version of `acos`."""
def arccosh(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """The inverse of the hyperbolic cosine; NaN below 1."""
def arccosh_(self: _Tensor) -> _Tensor:
    """In-place version of `acosh`."""
def arcsin(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """The inverse of the sine, in [-pi/2, pi/2]; NaN outside of [-1, 1]."""
def arcsin_(self: _Tensor) -> _Tensor:
    """In-place version of `asin`."""
def arcsinh(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """The inverse of the hyperbolic sine."""
def arcsinh_(self: _Tensor) -> _Tensor:
    """In-place version of `asinh`."""
def arctan(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """The inverse of the tangent, in [-pi/2, pi/2]."""
def arctan2(input: _Any, other: _Any, *, out: _Any = None) -> _Tensor:
    """The angle of the point (other, input), in [-pi, pi]: `atan(input / other)` in the right quadrant."""
def arctan_(self: _Tensor) -> _Tensor:
    """In-place version of `atan`."""
def arctanh(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """The inverse of the hyperbolic tangent; NaN outside of [-1, 1]."""
def arctanh_(self: _Tensor) -> _Tensor:
    """In-place version of `atanh`."""
def argmax(input: _Tensor, dim: _builtins.int | None = None, keepdim: _builtins.bool = False, *, out: _Any = None) -> _Tensor:
    """The index of the largest element (the first one; NaN counts as largest)."""
def argmin(input: _Tensor, dim: _builtins.int | None = None, keepdim: _builtins.bool = False, *, out: _Any = None) -> _Tensor:
    """The index of the smallest element (the first one; NaN counts as smallest)."""
def argsort(input: _Tensor, dim: _builtins.int = -1, descending: _builtins.bool = False, stable: _builtins.bool = False, *, out: _Any = None) -> _Tensor:
    """The indices that sort a dimension."""
def argwhere(input: _Tensor) -> _Tensor:
    """The indices of the elements that are not zero, one row each."""
def as_strided(input: _Tensor, size: _Any, stride: _Any, storage_offset: _builtins.int | None = None) -> _Tensor:
    """A view with any size and strides over the tensor's memory."""
def as_strided_(self: _Tensor, size: _Any, stride: _Any, storage_offset: _builtins.int | None = None) -> _Tensor:
    """In-place version of `as_strided`: give this tensor any size and strides over its memory."""
def as_strided_copy(input: _Tensor, size: _Any, stride: _Any, storage_offset: _builtins.int | None = None, *, out: _Any = None) -> _Tensor:
    """`as_strided`, but the result has memory of its own instead of sharing that of `input`."""
def as_strided_scatter(input: _Tensor, src: _Tensor, size: _Any, stride: _Any, storage_offset: _builtins.int | None = None, *, out: _Any = None) -> _Tensor:
    """A copy with `src` in the part that `as_strided` would show."""
def as_tensor(data: _Any, dtype: _dtype | None = None, device: _Any = None) -> _Tensor:
    """`data` as a tensor, sharing memory and history where no conversion is needed."""
def asarray(obj: _Any, *, dtype: _dtype | None = None, device: _Any = None, copy: _builtins.bool | None = None, requires_grad: _builtins.bool | None = None) -> _Tensor:
    """`obj` as a tensor: shared where possible, copied where needed or asked."""
def asin(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """The inverse of the sine, in [-pi/2, pi/2]; NaN outside of [-1, 1]."""
def asin_(self: _Tensor) -> _Tensor:
    """In-place version of `asin`."""
def asinh(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """The inverse of the hyperbolic sine."""
def asinh_(self: _Tensor) -> _Tensor:
    """In-place version of `asinh`."""
def atan(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """The inverse of the tangent, in [-pi/2, pi/2]."""
def atan2(input: _Any, other: _Any, *, out: _Any = None) -> _Tensor:
    """The angle of the point (other, input), in [-pi, pi]: `atan(input / other)` in the right quadrant."""
def atan_(self: _Tensor) -> _Tensor:
    """In-place version of `atan`."""
def atanh(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """The inverse of the hyperbolic tangent; NaN outside of [-1, 1]."""
def atanh_(self: _Tensor) -> _Tensor:
    """In-place version of `atanh`."""
def atleast_1d(*tensors: _Any) -> _Any:
    """Views with at least one dimension: numbers become vectors."""
def atleast_2d(*tensors: _Any) -> _Any:
    """Views with at least two dimensions: numbers and vectors become matrices of one row."""
def atleast_3d(*tensors: _Any) -> _Any:
    """Views with at least three dimensions: vectors become (1, n, 1), matrices (m, n, 1)."""
def avg_pool1d(input: _Tensor, kernel_size: _Any, stride: _Any = None, padding: _Any = 0, ceil_mode: _builtins.bool = False, count_include_pad: _builtins.bool = True) -> _Tensor:
    """Averages of windows along the last dimension."""
def baddbmm(input: _Tensor, batch1: _Tensor, batch2: _Tensor, *, beta: _builtins.int | _builtins.float | _builtins.complex = 1, alpha: _builtins.int | _builtins.float | _builtins.complex = 1, out: _Any = None) -> _Tensor:
    """`beta * input + alpha * (batch1 @ batch2)` for batches of matrices."""
def bartlett_window(window_length: _builtins.int, periodic: _builtins.bool = True, *, dtype: _dtype | None = None, **options: _Any) -> _Tensor:
    """A Bartlett window: a triangle that reaches zero."""
def batch_norm(input: _Tensor, weight: _Tensor | None, bias: _Tensor | None, running_mean: _Tensor | None, running_var: _Tensor | None, training: _builtins.bool, momentum: _builtins.float, eps: _builtins.float, cudnn_enabled: _builtins.bool = False) -> _Tensor:
    ...
def batch_norm_update_stats(input: _Tensor, running_mean: _Tensor | None, running_var: _Tensor | None, momentum: _builtins.float) -> _builtins.tuple[_Tensor, _Tensor]:
    """Means and biased variances of channels; running ones move towards them."""
def bernoulli(input: _Tensor, p: _builtins.float | None = None, *, generator: _Generator | _Stream | None = None, out: _Tensor | None = None) -> _Tensor:
    """Ones with the probability that stands at each place of `input`, and zeros."""
def bilinear(input1: _Tensor, input2: _Tensor, weight: _Tensor, bias: _Tensor | None = None) -> _Tensor:
    """`input1 @ weight[k] @ input2 + bias[k]` for every output feature `k`."""
def binary_cross_entropy_with_logits(input: _Tensor, target: _Tensor, weight: _Tensor | None = None, pos_weight: _Tensor | None = None, reduction: _builtins.int = 0) -> _Tensor:
    ...
def bincount(input: _Tensor, weights: _Tensor | None = None, minlength: _builtins.int = 0) -> _Tensor:
    """How often each non-negative integer occurs, or the sum of its weights."""
def binomial(count: _Tensor, prob: _Tensor, generator: _Generator | _Stream | None = None) -> _Tensor:
    """How many of `count` trials of probability `prob` succeed."""
def bitwise_and(input: _Any, other: _Any, *, out: _Any = None) -> _Any:
    """The bits that are set in both operands: `input & other`."""
def bitwise_left_shift(input: _Any, other: _Any, *, out: _Any = None) -> _Tensor:
    """The bits moved to the left: `input << other`, which is `input * 2**other`."""
def bitwise_not(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """All bits inverted: `~input`. For bools, the logical not."""
def bitwise_or(input: _Any, other: _Any, *, out: _Any = None) -> _Any:
    """The bits that are set in at least one operand: `input | other`."""
def bitwise_right_shift(input: _Any, other: _Any, *, out: _Any = None) -> _Tensor:
    """The bits moved to the right: `input >> other`, which is `input // 2**other`."""
def bitwise_xor(input: _Any, other: _Any, *, out: _Any = None) -> _Any:
    """The bits that are set in exactly one operand: `input ^ other`."""
def blackman_window(window_length: _builtins.int, periodic: _builtins.bool = True, *, dtype: _dtype | None = None, **options: _Any) -> _Tensor:
    """A Blackman window: a constant less one cosine, plus one of twice its frequency."""
def block_diag(*tensors: _Tensor) -> _Tensor:
    """A matrix with the given matrices along its diagonal, and zeros elsewhere."""
def bmm(input: _Tensor, mat2: _Tensor, *, out: _Any = None) -> _Tensor:
    """The products of the matrices in two batches."""
def broadcast_shapes(*shapes: _Any) -> _Size:
    """The shape that tensors of these shapes broadcast to."""
def broadcast_tensors(*tensors: _Tensor | _Sequence[_Tensor]) -> _builtins.tuple[_Tensor, ...]:
    """All tensors expanded to their common shape, as views."""
def broadcast_to(input: _Tensor, *args: _Any, size: _Any = None) -> _Tensor:
    """Expand to a shape, without a copy; see `Tensor.expand`."""
def bucketize(input: _Any, boundaries: _Tensor, *, out_int32: _builtins.bool = False, right: _builtins.bool = False, out: _Any = None) -> _Tensor:
    """The index of the interval between `boundaries` that each value falls into."""
def can_cast(from_: _dtype, to: _dtype) -> _builtins.bool:
    """Whether results of one dtype may be stored in another: not floats as integers, for one."""
def cartesian_prod(*tensors: _Tensor) -> _Tensor:
    """All rows that take one element from each vector."""
def cat(tensors: _Any, dim: _builtins.int = 0, *, out: _Any = None) -> _Tensor:
    """Join tensors along a dimension that they have."""
def cdist(x1: _Tensor, x2: _Tensor, p: _builtins.float = 2.0, compute_mode: _builtins.str | None = 'use_mm_for_euclid_dist_if_necessary') -> _Tensor:
    """The p-norm distance between each row of `x1` and each row of `x2`."""
def ceil(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """The smallest integer that is not below each element."""
def ceil_(self: _Tensor) -> _Tensor:
    """In-place version of `ceil`."""
def celu(input: _Tensor, alpha: _builtins.float = 1.0) -> _Tensor:
    ...
def celu_(input: _Tensor, alpha: _builtins.float = 1.0) -> _Tensor:
    """In-place version of `celu`."""
def chain_matmul(*matrices: _Tensor, out: _Any = None) -> _Tensor:
    """Deprecated: the product of matrices given one by one; `linalg.multi_dot` takes a list."""
def channel_shuffle(input: _Tensor, groups: _builtins.int) -> _Tensor:
    """Divide the channels into groups and interleave them."""
def cholesky(input: _Tensor, upper: _builtins.bool = False, *, out: _Any = None) -> _Tensor:
    """The Cholesky factor; `linalg.cholesky` is its newer form."""
def cholesky_inverse(L: _Tensor, upper: _builtins.bool = False, *, out: _Any = None) -> _Tensor:
    """The inverse of A, given its Cholesky factor."""
def cholesky_solve(B: _Tensor, L: _Tensor, upper: _builtins.bool = False, *, out: _Any = None) -> _Tensor:
    """The solution X of A X = B, given the Cholesky factor of A."""
def chunk(input: _Tensor, chunks: _builtins.int, dim: _builtins.int = 0) -> _builtins.tuple[_Tensor, ...]:
    """At most `chunks` views of equal size; the last one may be smaller."""
def clamp(input: _Tensor, min: _Any = None, max: _Any = None) -> _Tensor:
    """Elements limited to [min, max]. The bounds are both numbers or both tensors."""
def clamp_(input: _Tensor, min: _Any = None, max: _Any = None) -> _Tensor:
    """In-place version of `clamp`."""
def clamp_max(input: _Tensor, max: _Any) -> _Tensor:
    """Elements that are at most `max`."""
def clamp_max_(input: _Tensor, max: _Any) -> _Tensor:
    """In-place version of `clamp_max`."""
def clamp_min(input: _Tensor, min: _Any) -> _Tensor:
    """Elements that are at least `min`."""
def clamp_min_(input: _Tensor, min: _Any) -> _Tensor:
    """In-place version of `clamp_min`."""
def clip(input: _Tensor, min: _Any = None, max: _Any = None) -> _Tensor:
    """Elements limited to [min, max]. The bounds are both numbers or both tensors."""
def clip_(input: _Tensor, min: _Any = None, max: _Any = None) -> _Tensor:
    """In-place version of `clip`."""
def clone(input: _Tensor, *, memory_format: _memory_format | None = None) -> _Tensor:
    """A copy that is part of the graph: gradients flow through it."""
def column_stack(tensors: _Any, *, out: _Any = None) -> _Tensor:
    """Join as columns: along the second dimension, vectors as one column each."""
def combinations(input: _Tensor, r: _builtins.int = 2, with_replacement: _builtins.bool = False) -> _Tensor:
    """All ways to choose `r` elements of a vector, one row each, in the vector's order."""
def complex(real: _Tensor, imag: _Tensor, *, out: _Any = None) -> _Tensor:
    """A complex tensor from its real and imaginary part."""
def concat(tensors: _Any, dim: _builtins.int = 0, *, out: _Any = None) -> _Tensor:
    """Join tensors along a dimension that they have."""
def concatenate(tensors: _Any, dim: _builtins.int = 0, *, out: _Any = None) -> _Tensor:
    """Join tensors along a dimension that they have."""
def conj(input: _Tensor) -> _Tensor:
    """The complex conjugate, as a view that shares memory; a real tensor itself."""
def conj_physical(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """The complex conjugate in memory of its own; a real tensor itself."""
def conj_physical_(self: _Tensor) -> _Tensor:
    """In-place version of `conj_physical`."""
def constant_pad_nd(input: _Tensor, pad: _Sequence[_builtins.int], value: _builtins.complex | _Tensor = 0) -> _Tensor:
    """Pad the last dimensions, given from the last on; negative sizes crop."""
def conv1d(input: _Tensor, weight: _Tensor, bias: _Tensor | None = None, stride: _Any = 1, padding: _Any = 0, dilation: _Any = 1, groups: _builtins.int = 1) -> _Tensor:
    """Cross-correlation of `input` with the kernels `weight`, over 1 dimension."""
def conv2d(input: _Tensor, weight: _Tensor, bias: _Tensor | None = None, stride: _Any = 1, padding: _Any = 0, dilation: _Any = 1, groups: _builtins.int = 1) -> _Tensor:
    """Cross-correlation of `input` with the kernels `weight`, over 2 dimensions."""
def conv3d(input: _Tensor, weight: _Tensor, bias: _Tensor | None = None, stride: _Any = 1, padding: _Any = 0, dilation: _Any = 1, groups: _builtins.int = 1) -> _Tensor:
    """Cross-correlation of `input` with the kernels `weight`, over 3 dimensions."""
def conv_tbc(input: _Tensor, weight: _Tensor, bias: _Tensor, pad: _builtins.int = 0) -> _Tensor:
    """Convolution over time of (time, batch, channels) with weight (time, in, out)."""
def conv_transpose1d(input: _Tensor, weight: _Tensor, bias: _Tensor | None = None, stride: _Any = 1, padding: _Any = 0, output_padding: _Any = 0, groups: _builtins.int = 1, dilation: _Any = 1) -> _Tensor:
    """Transposed convolution over 1 dimension: the gradient of `conv1d`."""
def conv_transpose2d(input: _Tensor, weight: _Tensor, bias: _Tensor | None = None, stride: _Any = 1, padding: _Any = 0, output_padding: _Any = 0, groups: _builtins.int = 1, dilation: _Any = 1) -> _Tensor:
    """Transposed convolution over 2 dimensions: the gradient of `conv2d`."""
def conv_transpose3d(input: _Tensor, weight: _Tensor, bias: _Tensor | None = None, stride: _Any = 1, padding: _Any = 0, output_padding: _Any = 0, groups: _builtins.int = 1, dilation: _Any = 1) -> _Tensor:
    """Transposed convolution over 3 dimensions: the gradient of `conv3d`."""
def convolution(input: _Tensor, weight: _Tensor, bias: _Tensor | None, stride: _Any, padding: _Any, dilation: _Any, transposed: _builtins.bool, output_padding: _Any, groups: _builtins.int) -> _Tensor:
    """A convolution over any number of spatial axes, or with `transposed` its adjoint."""
def copysign(input: _Tensor, other: _Any, *, out: _Any = None) -> _Tensor:
    """The magnitude of `input` with the sign of `other`."""
def corrcoef(input: _Tensor) -> _Tensor:
    """The matrix of correlation coefficients of variables in rows, observed in columns."""
def cos(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """The cosine of angles in radians."""
def cos_(self: _Tensor) -> _Tensor:
    """In-place version of `cos`."""
def cosh(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """The hyperbolic cosine: `(exp(input) + exp(-input)) / 2`."""
def cosh_(self: _Tensor) -> _Tensor:
    """In-place version of `cosh`."""
def cosine_embedding_loss(input1: _Tensor, input2: _Tensor, target: _Tensor, margin: _builtins.float = 0.0, reduction: _builtins.int = 0) -> _Tensor:
    ...
def cosine_similarity(x1: _Tensor, x2: _Tensor, dim: _builtins.int = 1, eps: _builtins.float = 1e-08) -> _Tensor:
    """The cosine of the angle between vectors along a dimension."""
def count_nonzero(input: _Tensor, dim: _builtins.int | _builtins.tuple[_builtins.int, ...] | _builtins.list[_builtins.int] | None = None, *, out: _Any = None) -> _Tensor:
    """How many elements are not zero."""
def cov(input: _Tensor, *, correction: _builtins.int = 1, fweights: _Tensor | None = None, aweights: _Tensor | None = None) -> _Tensor:
    """The covariance matrix of variables in rows, observed in columns."""
def cross(input: _Tensor, other: _Tensor, dim: _builtins.int | None = None, *, out: _Any = None) -> _Tensor:
    """The cross product along a dimension; by default the first one of length 3."""
def ctc_loss(log_probs: _Tensor, targets: _Tensor, input_lengths: _Tensor | _Sequence[_builtins.int], target_lengths: _Tensor | _Sequence[_builtins.int], blank: _builtins.int = 0, reduction: _builtins.int = 1, zero_infinity: _builtins.bool = False) -> _Tensor:
    ...
def cummax(input: _Tensor, dim: _builtins.int, *, out: _Any = None) -> _cummax:
    """The largest element so far along a dimension, and where (the latest of equals)."""
def cummin(input: _Tensor, dim: _builtins.int, *, out: _Any = None) -> _cummin:
    """The smallest element so far along a dimension, and where (the latest of equals)."""
def cumprod(input: _Tensor, dim: _builtins.int, *, dtype: _dtype | None = None, out: _Any = None) -> _Tensor:
    """Running products along a dimension."""
def cumsum(input: _Tensor, dim: _builtins.int, *, dtype: _dtype | None = None, out: _Any = None) -> _Tensor:
    """Running sums along a dimension."""
def cumulative_trapezoid(y: _Tensor, x: _Tensor | None = None, *, dx: _builtins.complex | None = None, dim: _builtins.int = -1) -> _Tensor:
    """Running integrals of sampled values by the trapezoidal rule, one fewer than samples."""
def deg2rad(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """Degrees as radians: `input * pi / 180`."""
def deg2rad_(self: _Tensor) -> _Tensor:
    """In-place version of `deg2rad`."""
def det(A: _Tensor, *, out: _Any = None) -> _Tensor:
    """The determinant of square matrices."""
def detach(self: _Tensor) -> _Tensor:
    """A tensor over the same memory without history: no gradient flows through it."""
def detach_(self: _Tensor) -> _Tensor:
    """Forget this tensor's history: it is a leaf from then on, without gradient."""
def detach_copy(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """A copy that gradients do not pass: backward through it raises, as in PyTorch."""
def diag(input: _Tensor, diagonal: _builtins.int = 0, *, out: _Any = None) -> _Tensor:
    """The diagonal of a matrix, or the matrix with a given diagonal: a copy."""
def diag_embed(input: _Tensor, offset: _builtins.int = 0, dim1: _builtins.int = -2, dim2: _builtins.int = -1) -> _Tensor:
    """The last dimension on the diagonals of new matrices."""
def diagflat(input: _Tensor, offset: _builtins.int = 0) -> _Tensor:
    """The matrix with all elements of a tensor on a diagonal."""
def diagonal(input: _Tensor, offset: _builtins.int = 0, dim1: _builtins.int = 0, dim2: _builtins.int = 1) -> _Tensor:
    """The diagonal of two dimensions, as the last dimension of a view."""
def diagonal_copy(input: _Tensor, offset: _builtins.int = 0, dim1: _builtins.int = 0, dim2: _builtins.int = 1, *, out: _Any = None) -> _Tensor:
    """`diagonal`, but the result has memory of its own instead of sharing that of `input`."""
def diagonal_scatter(input: _Tensor, src: _Tensor, offset: _builtins.int = 0, dim1: _builtins.int = 0, dim2: _builtins.int = 1, *, out: _Any = None) -> _Tensor:
    """A copy with `src` on a diagonal: what writing to `diagonal` gives."""
def diff(input: _Tensor, n: _builtins.int = 1, dim: _builtins.int = -1, prepend: _Tensor | None = None, append: _Tensor | None = None, *, out: _Any = None) -> _Tensor:
    """The n-th differences of neighbours along a dimension."""
def digamma(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """The derivative of `lgamma`."""
def dist(input: _Tensor, other: _Tensor, p: _builtins.float = 2, *, out: _Any = None) -> _Tensor:
    """The p-norm of `input - other`: the distance of two tensors."""
def div(input: _Tensor, other: _Any, *, rounding_mode: _builtins.str | None = ..., out: _Any = None) -> _Tensor:
    """`input / other`, rounded if asked. Without rounding, integers give the default float."""
def divide(input: _Tensor, other: _Any, *, rounding_mode: _builtins.str | None = ..., out: _Any = None) -> _Tensor:
    """`input / other`, rounded if asked. Without rounding, integers give the default float."""
def dot(input: _Tensor, tensor: _Tensor, *, out: _Any = None) -> _Tensor:
    """The sum of the products of two vectors' elements."""
def dropout(input: _Tensor, p: _builtins.float, train: _builtins.bool) -> _Tensor:
    ...
def dropout_(input: _Tensor, p: _builtins.float, train: _builtins.bool) -> _Tensor:
    """`dropout` in place."""
def dsplit(input: _Tensor, indices_or_sections: _builtins.int | _Sequence[_builtins.int]) -> _builtins.tuple[_Tensor, ...]:
    """Split along the third dimension."""
def dstack(tensors: _Any, *, out: _Any = None) -> _Tensor:
    """Join along the third dimension."""
def eig(input: _Tensor, *args: _Any, **kwargs: _Any) -> _Any:
    """Removed: `linalg.eig(A)` or `linalg.eigvals(A)`, whose results are complex."""
def einsum(*args: _Any) -> _Tensor:
    """Sums of products by Einstein's convention: `einsum("ij,jk->ik", a, b)`."""
def embedding(weight: _Tensor, indices: _Tensor, padding_idx: _builtins.int = -1, scale_grad_by_freq: _builtins.bool = False, sparse: _builtins.bool = False) -> _Tensor:
    ...
def embedding_renorm_(input: _Tensor, indices: _Tensor, max_norm: _builtins.float, norm_type: _builtins.float) -> _Tensor:
    """Shrink, in place, the rows of a table that are looked up and whose norm is too large."""
def empty(*sizes: _Any, size: _Any = None, out: _Tensor | None = None, dtype: _dtype | None = None, memory_format: _memory_format | None = None, **options: _Any) -> _Tensor:
    """A tensor whose values are whatever its memory held: to be written before it is read."""
def empty_like(input: _Tensor, *, dtype: _dtype | None = None, memory_format: _memory_format | None = None, **options: _Any) -> _Tensor:
    """An uninitialised tensor of another's shape."""
def empty_permuted(size: _Any, physical_layout: _Any, *, dtype: _dtype | None = None, **options: _Any) -> _Tensor:
    """An uninitialised tensor whose dimensions lie in memory in the given order."""
def empty_strided(size: _Any, stride: _Any, *, dtype: _dtype | None = None, **options: _Any) -> _Tensor:
    """An uninitialised tensor with the given strides."""
def eq(input: _Tensor, other: _Any, *, out: _Any = None) -> _Tensor:
    """Where elements are equal, as a tensor of bools; NaN equals nothing."""
def equal(input: _Tensor, other: _Tensor) -> _builtins.bool:
    """Whether two tensors have the same shape and the same elements; a Python bool."""
def erf(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """The error function: the integral of `2/sqrt(pi) * exp(-t²)` from 0 to `input`."""
def erf_(self: _Tensor) -> _Tensor:
    """In-place version of `erf`."""
def erfc(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """`1 - erf(input)`, which stays exact where `erf` is near 1."""
def erfc_(self: _Tensor) -> _Tensor:
    """In-place version of `erfc`."""
def erfinv(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """The inverse of the error function; infinite at -1 and 1, NaN outside."""
def exp(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """e to the power of each element."""
def exp2(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """2 to the power of each element."""
def exp2_(self: _Tensor) -> _Tensor:
    """In-place version of `exp2`."""
def exp_(self: _Tensor) -> _Tensor:
    """In-place version of `exp`."""
def expand_copy(input: _Tensor, size: _Any, *, implicit: _builtins.bool = False, out: _Any = None) -> _Tensor:
    """`expand`, but the result has memory of its own instead of sharing that of `input`."""
def expm1(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """`exp(input) - 1`, which stays exact for numbers near 0."""
def expm1_(self: _Tensor) -> _Tensor:
    """In-place version of `expm1`."""
def eye(n: _builtins.int, m: _builtins.int | None = None, *, out: _Tensor | None = None, dtype: _dtype | None = None, **options: _Any) -> _Tensor:
    """A matrix with ones on the diagonal and zeros elsewhere."""
def feature_alpha_dropout(input: _Tensor, p: _builtins.float, train: _builtins.bool) -> _Tensor:
    ...
def feature_alpha_dropout_(input: _Tensor, p: _builtins.float, train: _builtins.bool) -> _Tensor:
    """`feature_alpha_dropout` in place."""
def feature_dropout(input: _Tensor, p: _builtins.float, train: _builtins.bool) -> _Tensor:
    """Dropout of whole channels."""
def feature_dropout_(input: _Tensor, p: _builtins.float, train: _builtins.bool) -> _Tensor:
    """`feature_dropout` in place."""
def fill(input: _Tensor, value: _Any) -> _Tensor:
    """A copy of the tensor's shape and dtype with every element set to one value."""
def fill_(self: _Tensor, value: _Any) -> _Tensor:
    """Set every element to one value."""
def fix(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """Each element without its fraction: rounded towards zero."""
def fix_(self: _Tensor) -> _Tensor:
    """In-place version of `trunc`."""
def flatten(input: _Tensor, start_dim: _builtins.int = 0, end_dim: _builtins.int = -1) -> _Tensor:
    """Join the dimensions from `start_dim` to `end_dim` into one."""
def flip(input: _Tensor, *args: _Any, dims: _Any = None) -> _Tensor:
    """A copy with the order of elements reversed along dimensions."""
def fliplr(input: _Tensor) -> _Tensor:
    """A copy with the columns (the second dimension) reversed."""
def flipud(input: _Tensor) -> _Tensor:
    """A copy with the rows (the first dimension) reversed."""
def float_power(input: _Any, exponent: _Any, *, out: _Any = None) -> _Tensor:
    """`input ** exponent` in double precision, whatever the dtypes of the operands."""
def floor(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """The largest integer that is not above each element."""
def floor_(self: _Tensor) -> _Tensor:
    """In-place version of `floor`."""
def floor_divide(input: _Any, other: _Any, *, out: _Any = None) -> _Any:
    """`input / other` rounded down, in the dtype of the operands."""
def fmax(input: _Any, other: _Any, *, out: _Any = None) -> _Tensor:
    """The larger of two elements; if one of them is NaN, the other."""
def fmin(input: _Any, other: _Any, *, out: _Any = None) -> _Tensor:
    """The smaller of two elements; if one of them is NaN, the other."""
def fmod(input: _Tensor, other: _Any, *, out: _Any = None) -> _Tensor:
    """The remainder of a division that rounds towards zero, as C's `%`."""
def frac(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """The fraction of each element, with its sign: `input - trunc(input)`."""
def frac_(self: _Tensor) -> _Tensor:
    """In-place version of `frac`."""
def frexp(input: _Tensor, *, out: _Any = None) -> _Any:
    """`(mantissa, exponent)` with input = mantissa · 2^exponent and 0.5 <= |mantissa| < 1."""
def from_dlpack(ext_tensor: _Any, *, device: _Any = None, copy: _builtins.bool | None = None) -> _Tensor:
    """A tensor that shares memory with any object that has the DLPack protocol."""
def from_file(filename: _Any, shared: _builtins.bool | None = None, size: _builtins.int | None = 0, *, dtype: _dtype | None = None, **options: _Any) -> _Tensor:
    """A tensor whose memory is a file that is mapped into memory."""
def from_numpy(array: _ndarray) -> _Tensor:
    """A tensor that shares memory with an ndarray: what is written to one is seen in the other."""
def frombuffer(buffer: _Any, *, dtype: _dtype, count: _builtins.int = -1, offset: _builtins.int = 0, requires_grad: _builtins.bool = False) -> _Tensor:
    """A 1-dim tensor over the memory of an object that has Python's buffer protocol."""
def full(size: _Any, fill_value: _Any, *, out: _Tensor | None = None, dtype: _dtype | None = None, **options: _Any) -> _Tensor:
    """A tensor of one value, whose dtype follows from the value unless given."""
def full_like(input: _Tensor, fill_value: _Any, *, dtype: _dtype | None = None, memory_format: _memory_format | None = None, **options: _Any) -> _Tensor:
    """One value in the shape of another tensor."""
def gather(input: _Tensor, dim: _builtins.int, index: _Tensor, *, sparse_grad: _builtins.bool = False, out: _Any = None) -> _Tensor:
    """Pick elements along a dimension: `out[i, j] = input[index[i, j], j]` (for `dim=0`)."""
def gcd(input: _Any, other: _Any, *, out: _Any = None) -> _Tensor:
    """The greatest common divisor."""
def gcd_(self: _Tensor, other: _Any) -> _Tensor:
    """In-place version of `gcd`."""
def ge(input: _Tensor, other: _Any, *, out: _Any = None) -> _Tensor:
    """Where elements of `input` are larger or equal, as a tensor of bools."""
def geqrf(input: _Tensor, *, out: _Any = None) -> _geqrf:
    """The QR decomposition in LAPACK's compact form: R, and the reflections whose product is Q."""
def ger(input: _Tensor, vec2: _Tensor, *, out: _Any = None) -> _Tensor:
    """The matrix of all products of two vectors' elements."""
def get_device(input: _Tensor) -> _builtins.int:
    """The index of the accelerator: -1, because the tensor is on the CPU."""
def gradient(input: _Tensor, *, spacing: _Any = None, dim: _Any = None, edge_order: _builtins.int = 1) -> _builtins.tuple[_Tensor, ...]:
    """Estimated derivatives of sampled values along each dimension, by central differences."""
def greater(input: _Tensor, other: _Any, *, out: _Any = None) -> _Tensor:
    """Where elements of `input` are larger, as a tensor of bools."""
def greater_equal(input: _Tensor, other: _Any, *, out: _Any = None) -> _Tensor:
    """Where elements of `input` are larger or equal, as a tensor of bools."""
def grid_sampler(input: _Tensor, grid: _Tensor, interpolation_mode: _builtins.int, padding_mode: _builtins.int, align_corners: _builtins.bool) -> _Tensor:
    """`grid_sample` with its modes given by number."""
def grid_sampler_2d(input: _Tensor, grid: _Tensor, interpolation_mode: _builtins.int, padding_mode: _builtins.int, align_corners: _builtins.bool) -> _Tensor:
    """`grid_sampler` of tensors with 2 spatial dimensions."""
def grid_sampler_3d(input: _Tensor, grid: _Tensor, interpolation_mode: _builtins.int, padding_mode: _builtins.int, align_corners: _builtins.bool) -> _Tensor:
    """`grid_sampler` of tensors with 3 spatial dimensions."""
def group_norm(input: _Tensor, num_groups: _builtins.int, weight: _Tensor | None = None, bias: _Tensor | None = None, eps: _builtins.float = 1e-05, cudnn_enabled: _builtins.bool = True) -> _Tensor:
    ...
def gru(*args: _Any, **kwargs: _Any) -> _builtins.tuple[_Tensor, ...]:
    ...
def gru_cell(input: _Tensor, hx: _Tensor, w_ih: _Tensor, w_hh: _Tensor, b_ih: _Tensor | None = None, b_hh: _Tensor | None = None) -> _Tensor:
    """One step of a GRU: the next hidden state."""
def gt(input: _Tensor, other: _Any, *, out: _Any = None) -> _Tensor:
    """Where elements of `input` are larger, as a tensor of bools."""
def hamming_window(window_length: _builtins.int, periodic: _builtins.bool = True, alpha: _builtins.float = 0.54, beta: _builtins.float = 0.46, *, dtype: _dtype | None = None, **options: _Any) -> _Tensor:
    """A Hamming window: a raised cosine, `alpha - beta * cos(2 * pi * n / (N - 1))`."""
def hann_window(window_length: _builtins.int, periodic: _builtins.bool = True, *, dtype: _dtype | None = None, **options: _Any) -> _Tensor:
    """A Hann window: a raised cosine that reaches zero."""
def hardshrink(input: _Tensor, lambd: _builtins.float = 0.5, *, out: _Any = None) -> _Tensor:
    """`x` outside of [-lambd, lambd], 0 within."""
def hash_tensor(input: _Tensor, dim: _Any = ..., *, keepdim: _builtins.bool = False, mode: _builtins.int = 0, out: _Any = None) -> _Tensor:
    """The exclusive or of the bits of all elements, widened to 64 bits: a checksum."""
def heaviside(input: _Tensor, values: _Tensor, *, out: _Any = None) -> _Tensor:
    """The step function: 0 below zero, 1 above, `values` at zero."""
def hinge_embedding_loss(input: _Tensor, target: _Tensor, margin: _builtins.float = 1.0, reduction: _builtins.int = 0) -> _Tensor:
    ...
def histc(input: _Tensor, bins: _builtins.int = 100, min: _builtins.float = 0, max: _builtins.float = 0, *, out: _Any = None) -> _Tensor:
    """Counts of elements in `bins` equal intervals between `min` and `max`."""
def histogram(input: _Tensor, bins: _builtins.int | _Tensor = 100, *, range: _builtins.tuple[_builtins.float, _builtins.float] | None = None, weight: _Tensor | None = None, density: _builtins.bool = False, out: _Any = None) -> _histogram:
    """Counts (or densities) of elements between edges, and the edges."""
def histogramdd(input: _Tensor, bins: _Any, range: _Any = None, weight: _Tensor | None = None, density: _builtins.bool = False) -> _histogramdd:
    """How many points lie in each cell of a grid, and the grid's edges along each axis."""
def householder_product(input: _Tensor, tau: _Tensor, *, out: _Any = None) -> _Tensor:
    """The first columns of the product of the reflections I - tau_i v_i v_i^H."""
def hsplit(input: _Tensor, indices_or_sections: _builtins.int | _Sequence[_builtins.int]) -> _builtins.tuple[_Tensor, ...]:
    """Split along the second dimension; vectors along their only one."""
def hspmm(self: _Tensor, *args: _Any, **kwargs: _Any) -> _Any:
    """The product of a sparse and a strided matrix: sparse in rows, dense in columns."""
def hstack(tensors: _Any, *, out: _Any = None) -> _Tensor:
    """Join side by side: along the second dimension, vectors along their only one."""
def hypot(input: _Any, other: _Any, *, out: _Any = None) -> _Tensor:
    """The length of the hypotenuse: `sqrt(input² + other²)`, without overflow on the way."""
def i0(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """The modified Bessel function of the first kind, of order 0."""
def i0_(self: _Tensor) -> _Tensor:
    """In-place version of `i0`."""
def igamma(input: _Any, other: _Any, *, out: _Any = None) -> _Tensor:
    """The regularized lower incomplete gamma function: 0 at `other` = 0, 1 at infinity."""
def igammac(input: _Any, other: _Any, *, out: _Any = None) -> _Tensor:
    """The regularized upper incomplete gamma function: `1 - igamma(input, other)`."""
def imag(input: _Tensor) -> _Tensor:
    """The imaginary part of a complex tensor, as a view."""
def index_add(input: _Tensor, dim: _builtins.int, index: _Tensor, source: _Tensor, *, alpha: _Any = 1, out: _Any = None) -> _Tensor:
    """A copy with the slices of `alpha * source` added at the given indices of a dimension."""
def index_copy(input: _Tensor, dim: _builtins.int, index: _Tensor, source: _Tensor, *, out: _Any = None) -> _Tensor:
    """A copy with the slices of `source` at the given indices of a dimension."""
def index_fill(input: _Tensor, dim: _builtins.int, index: _Tensor, value: _Any) -> _Tensor:
    """A copy with one value in the slices at the given indices of a dimension."""
def index_put(input: _Tensor, indices: _Any, values: _Tensor, accumulate: _builtins.bool = False) -> _Tensor:
    """A copy with `values` written (or added) at indices: `out[indices] = values`."""
def index_put_(self: _Tensor, indices: _Any, values: _Tensor, accumulate: _builtins.bool = False) -> _Tensor:
    """In-place version of `index_put`: write (or add) `values` at indices."""
def index_reduce(input: _Tensor, dim: _builtins.int, index: _Tensor, source: _Tensor, reduce: _builtins.str, *, include_self: _builtins.bool = True, out: _Any = None) -> _Tensor:
    """A copy into which the slices of `source` are reduced at the given indices."""
def index_select(input: _Tensor, dim: _builtins.int, index: _Tensor, *, out: _Any = None) -> _Tensor:
    """A copy of the slices of a dimension at the given indices."""
def inner(input: _Tensor, other: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """The dot products of the last dimensions of two tensors."""
def instance_norm(input: _Tensor, weight: _Tensor | None, bias: _Tensor | None, running_mean: _Tensor | None, running_var: _Tensor | None, use_input_stats: _builtins.bool, momentum: _builtins.float, eps: _builtins.float, cudnn_enabled: _builtins.bool = False) -> _Tensor:
    ...
def inverse(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """The inverse of square matrices; `linalg.inv` is its newer name."""
def is_complex(input: _Tensor) -> _builtins.bool:
    """Whether the dtype is complex."""
def is_conj(input: _Tensor) -> _builtins.bool:
    """Whether a tensor shows the conjugates of the numbers in its memory."""
def is_floating_point(input: _Tensor) -> _builtins.bool:
    """Whether the dtype is a real floating-point one."""
def is_inference(input: _Tensor) -> _builtins.bool:
    """Whether a tensor was made in inference mode."""
def is_neg(input: _Tensor) -> _builtins.bool:
    """Whether a tensor shows the negatives of the numbers in its memory."""
def is_nonzero(input: _Tensor) -> _builtins.bool:
    """Whether the only element is not zero; tensors of several elements raise."""
def is_same_size(input: _Tensor, other: _Tensor) -> _builtins.bool:
    """Whether two tensors have the same shape."""
def is_signed(input: _Tensor) -> _builtins.bool:
    """Whether the dtype has negative numbers."""
def is_storage(obj: _Any) -> _builtins.bool:
    """Whether an object is what `untyped_storage()` or `storage()` returns."""
def is_tensor(obj: _Any) -> _builtins.bool:
    """Whether an object is a tensor."""
def isclose(input: _Tensor, other: _Tensor, rtol: _builtins.float = 1e-05, atol: _builtins.float = 1e-08, equal_nan: _builtins.bool = False) -> _Tensor:
    """Where `|input - other| <= atol + rtol * |other|`, as a tensor of bools."""
def isfinite(input: _Tensor) -> _Tensor:
    """Where elements are neither infinite nor NaN, as a tensor of bools."""
def isin(elements: _Any, test_elements: _Any, *, assume_unique: _builtins.bool = False, invert: _builtins.bool = False, out: _Any = None) -> _Tensor:
    """Whether each element is among `test_elements`."""
def isinf(input: _Tensor) -> _Tensor:
    """Where elements are inf or -inf, as a tensor of bools."""
def isnan(input: _Tensor) -> _Tensor:
    """Where elements are NaN, as a tensor of bools."""
def isneginf(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """Where elements are -inf, as a tensor of bools."""
def isposinf(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """Where elements are inf, as a tensor of bools."""
def isreal(input: _Tensor) -> _Tensor:
    """Where the imaginary part is 0, as a tensor of bools."""
def istft(input: _Tensor, n_fft: _builtins.int, hop_length: _builtins.int | None = None, win_length: _builtins.int | None = None, window: _Tensor | None = None, center: _builtins.bool = True, normalized: _builtins.bool = False, onesided: _builtins.bool | None = None, length: _builtins.int | None = None, return_complex: _builtins.bool = False) -> _Tensor:
    """The signal whose `stft` comes closest to the input."""
def kaiser_window(window_length: _builtins.int, periodic: _builtins.bool = True, beta: _builtins.float = 12.0, *, dtype: _dtype | None = None, **options: _Any) -> _Tensor:
    """A Kaiser window: a Bessel function's bump, the narrower the larger `beta`."""
def kl_div(input: _Tensor, target: _Tensor, reduction: _builtins.int = 0, *, log_target: _builtins.bool = False) -> _Tensor:
    ...
def kron(input: _Tensor, other: _Tensor, *, out: _Any = None) -> _Tensor:
    """The Kronecker product: `other` scaled by every element of `input`, laid out as blocks."""
def kthvalue(input: _Tensor, k: _builtins.int, dim: _builtins.int = -1, keepdim: _builtins.bool = False, *, out: _Any = None) -> _kthvalue:
    """The k-th smallest element (k counts from 1) along a dimension, and where."""
def layer_norm(input: _Tensor, normalized_shape: _Sequence[_builtins.int], weight: _Tensor | None = None, bias: _Tensor | None = None, eps: _builtins.float = 1e-05, cudnn_enable: _builtins.bool = True) -> _Tensor:
    ...
def lcm(input: _Any, other: _Any, *, out: _Any = None) -> _Tensor:
    """The least common multiple."""
def lcm_(self: _Tensor, other: _Any) -> _Tensor:
    """In-place version of `lcm`."""
def ldexp(input: _Any, other: _Any, *, out: _Any = None) -> _Tensor:
    """`input * 2**other`: a float from mantissa and exponent."""
def ldexp_(self: _Tensor, other: _Any) -> _Tensor:
    """In-place version of `ldexp`."""
def le(input: _Tensor, other: _Any, *, out: _Any = None) -> _Tensor:
    """Where elements of `input` are smaller or equal, as a tensor of bools."""
def lerp(input: _Tensor, end: _Tensor, weight: _Any, *, out: _Any = None) -> _Tensor:
    """`input + weight * (end - input)`: a point between two tensors."""
def less(input: _Tensor, other: _Any, *, out: _Any = None) -> _Tensor:
    """Where elements of `input` are smaller, as a tensor of bools."""
def less_equal(input: _Tensor, other: _Any, *, out: _Any = None) -> _Tensor:
    """Where elements of `input` are smaller or equal, as a tensor of bools."""
def lgamma(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """The logarithm of the absolute value of the gamma function."""
def linspace(start: _Any, end: _Any, steps: _builtins.int, *, out: _Tensor | None = None, dtype: _dtype | None = None, **options: _Any) -> _Tensor:
    """`steps` points from start to end, both included, evenly spaced."""
def lobpcg(A: _Tensor, k: _builtins.int | None = None, B: _Tensor | None = None, X: _Tensor | None = None, n: _builtins.int | None = None, iK: _Tensor | None = None, niter: _builtins.int | None = None, tol: _builtins.float | None = None, largest: _builtins.bool | None = None, method: _builtins.str | None = None, tracker: None = None, ortho_iparams: _builtins.dict[_builtins.str, _builtins.int] | None = None, ortho_fparams: _builtins.dict[_builtins.str, _builtins.float] | None = None, ortho_bparams: _builtins.dict[_builtins.str, _builtins.bool] | None = None) -> _builtins.tuple[_Tensor, _Tensor]:
    """The k largest or smallest eigenvalues of symmetric matrices, and their eigenvectors."""
def log(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """The natural logarithm; -inf at 0, NaN below."""
def log10(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """The logarithm to base 10."""
def log10_(self: _Tensor) -> _Tensor:
    """In-place version of `log10`."""
def log1p(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """`log(1 + input)`, which stays exact for numbers near 0."""
def log1p_(self: _Tensor) -> _Tensor:
    """In-place version of `log1p`."""
def log2(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """The logarithm to base 2."""
def log2_(self: _Tensor) -> _Tensor:
    """In-place version of `log2`."""
def log_(self: _Tensor) -> _Tensor:
    """In-place version of `log`."""
def log_softmax(input: _Tensor, dim: _builtins.int, dtype: _dtype | None = None, *, out: _Any = None) -> _Tensor:
    """The logarithm of `softmax`, computed without its underflow."""
def logaddexp(input: _Any, other: _Any, *, out: _Any = None) -> _Tensor:
    """`log(exp(input) + exp(other))`, without overflow on the way."""
def logaddexp2(input: _Any, other: _Any, *, out: _Any = None) -> _Tensor:
    """`log2(2**input + 2**other)`, without overflow on the way."""
def logcumsumexp(input: _Tensor, dim: _builtins.int, *, out: _Any = None) -> _Tensor:
    """log of the running sums of exp along a dimension, computed without overflow."""
def logdet(input: _Tensor) -> _Tensor:
    """The logarithm of the determinant; NaN where it is negative."""
def logical_and(input: _Any, other: _Any, *, out: _Any = None) -> _Tensor:
    """Where both elements are nonzero, as a tensor of bools."""
def logical_not(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """Where elements are zero, as a tensor of bools."""
def logical_or(input: _Any, other: _Any, *, out: _Any = None) -> _Tensor:
    """Where at least one of two elements is nonzero, as a tensor of bools."""
def logical_xor(input: _Any, other: _Any, *, out: _Any = None) -> _Tensor:
    """Where exactly one of two elements is nonzero, as a tensor of bools."""
def logit(input: _Tensor, eps: _builtins.float | None = None, *, out: _Any = None) -> _Tensor:
    """`log(x / (1 - x))`: the inverse of the sigmoid."""
def logit_(input: _Tensor, eps: _builtins.float | None = None) -> _Tensor:
    """In-place version of `logit`."""
def logspace(start: _Any, end: _Any, steps: _builtins.int, base: _builtins.float = 10.0, *, out: _Tensor | None = None, dtype: _dtype | None = None, **options: _Any) -> _Tensor:
    """`base` to the power of `steps` evenly spaced exponents."""
def logsumexp(input: _Tensor, dim: _builtins.int | _builtins.tuple[_builtins.int, ...] | _builtins.list[_builtins.int] | None, keepdim: _builtins.bool = False, *, out: _Any = None) -> _Tensor:
    """`log(sum(exp(input)))`, computed without overflow."""
def lstm(*args: _Any, **kwargs: _Any) -> _builtins.tuple[_Tensor, ...]:
    ...
def lstm_cell(input: _Tensor, hx: _Sequence[_Tensor], w_ih: _Tensor, w_hh: _Tensor, b_ih: _Tensor | None = None, b_hh: _Tensor | None = None) -> _builtins.tuple[_Tensor, _Tensor]:
    """One step of an LSTM: the next hidden state and cell."""
def lstsq(input: _Tensor, *args: _Any, **kwargs: _Any) -> _Any:
    """Removed: `linalg.lstsq(A, B)`, with the arguments the other way around."""
def lt(input: _Tensor, other: _Any, *, out: _Any = None) -> _Tensor:
    """Where elements of `input` are smaller, as a tensor of bools."""
def lu(A: _Tensor, pivot: _builtins.bool = True, get_infos: _builtins.bool = False, out: _Any = None) -> _Sequence[_Tensor]:
    """L and U in one tensor and the pivots (old form of `linalg.lu_factor`)."""
def lu_solve(b: _Tensor, LU_data: _Tensor, LU_pivots: _Tensor, *, out: _Any = None) -> _Tensor:
    """The solution of A X = b for the A that was factored."""
def lu_unpack(LU_data: _Tensor, LU_pivots: _Tensor, unpack_data: _builtins.bool = True, unpack_pivots: _builtins.bool = True, *, out: _Any = None) -> _lu_unpack:
    """P, L and U from what `lu_factor` gives; parts not asked for are empty."""
def margin_ranking_loss(input1: _Tensor, input2: _Tensor, target: _Tensor, margin: _builtins.float = 0.0, reduction: _builtins.int = 0) -> _Tensor:
    ...
def masked_fill(input: _Tensor, mask: _Tensor, value: _Any) -> _Tensor:
    """A copy with one value wherever the mask is true."""
def masked_scatter(input: _Tensor, mask: _Tensor, source: _Tensor) -> _Tensor:
    """A copy with the elements of `source`, in order, wherever the mask is true."""
def masked_select(input: _Tensor, mask: _Tensor, *, out: _Any = None) -> _Tensor:
    """The elements where the mask is true, in one dimension: a copy."""
def matmul(input: _Tensor, other: _Tensor, *, out: _Any = None) -> _Tensor:
    """The matrix product `input @ other`; leading dimensions are batches, which broadcast."""
def matrix_exp(A: _Tensor) -> _Tensor:
    """The matrix exponential: the sum of `A^k / k!`."""
def matrix_power(A: _Tensor, n: _builtins.int, *, out: _Any = None) -> _Tensor:
    """The product of n copies of square matrices, or of their inverses."""
def matrix_rank(input: _Tensor, *args: _Any, **kwargs: _Any) -> _Any:
    """Removed: `linalg.matrix_rank(A)`, where `symmetric` is called `hermitian`."""
def max(input: _Tensor, dim: _Any = None, keepdim: _builtins.bool = False, *, other: _Tensor | None = None, out: _Any = None) -> _Any:
    """The largest element; with `dim`, the largest along it and where; or of two."""
def max_pool1d(input: _Tensor, kernel_size: _Any, stride: _Any = None, padding: _Any = 0, dilation: _Any = 1, ceil_mode: _builtins.bool = False, return_indices: _builtins.bool = False) -> _Any:
    """Largest values of windows along the last dimension."""
def max_pool1d_with_indices(input: _Tensor, kernel_size: _Any, stride: _Any = None, padding: _Any = 0, dilation: _Any = 1, ceil_mode: _builtins.bool = False, return_indices: _builtins.bool = False) -> _builtins.tuple[_Tensor, _Tensor]:
    """Alias of `max_pool1d` with `return_indices=True`."""
def max_pool2d(input: _Tensor, kernel_size: _Any, stride: _Any = None, padding: _Any = 0, dilation: _Any = 1, ceil_mode: _builtins.bool = False, return_indices: _builtins.bool = False) -> _Any:
    """Largest values of windows over the last two dimensions."""
def max_pool3d(input: _Tensor, kernel_size: _Any, stride: _Any = None, padding: _Any = 0, dilation: _Any = 1, ceil_mode: _builtins.bool = False, return_indices: _builtins.bool = False) -> _Any:
    """Largest values of windows over the last three dimensions."""
def maximum(input: _Any, other: _Any, *, out: _Any = None) -> _Tensor:
    """The larger of two elements; NaN if one of them is NaN."""
def mean(input: _Tensor, dim: _builtins.int | _builtins.tuple[_builtins.int, ...] | _builtins.list[_builtins.int] | None = None, keepdim: _builtins.bool = False, *, dtype: _dtype | None = None, out: _Any = None) -> _Tensor:
    """The mean over some dimensions, or over all."""
def median(input: _Tensor, dim: _builtins.int | None = None, keepdim: _builtins.bool = False, *, out: _Any = None) -> _Any:
    """The (lower) median of all elements, or along a dimension, then also where it is."""
def meshgrid(*tensors: _Any, indexing: _builtins.str | None = None) -> _builtins.tuple[_Tensor, ...]:
    """Views of vectors, expanded over the grid that they span."""
def min(input: _Tensor, dim: _Any = None, keepdim: _builtins.bool = False, *, other: _Tensor | None = None, out: _Any = None) -> _Any:
    """The smallest element; with `dim`, the smallest along it and where; or of two."""
def minimum(input: _Any, other: _Any, *, out: _Any = None) -> _Tensor:
    """The smaller of two elements; NaN if one of them is NaN."""
def mm(input: _Tensor, mat2: _Tensor, *, out: _Any = None) -> _Tensor:
    """The product of two matrices."""
def mode(input: _Tensor, dim: _builtins.int = -1, keepdim: _builtins.bool = False, *, out: _Any = None) -> _mode:
    """The most frequent element along a dimension, and where (the last place)."""
def moveaxis(input: _Tensor, source: _builtins.int | _Sequence[_builtins.int], destination: _builtins.int | _Sequence[_builtins.int]) -> _Tensor:
    """A view with dimensions moved to other places; the rest keep their order."""
def movedim(input: _Tensor, source: _builtins.int | _Sequence[_builtins.int], destination: _builtins.int | _Sequence[_builtins.int]) -> _Tensor:
    """A view with dimensions moved to other places; the rest keep their order."""
def msort(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """The elements in ascending order along the first dimension."""
def mul(input: _Any, other: _Any, *, out: _Any = None) -> _Any:
    """`input * other`."""
def multinomial(input: _Tensor, num_samples: _builtins.int, replacement: _builtins.bool = False, *, generator: _Generator | _Stream | None = None, out: _Tensor | None = None) -> _Tensor:
    """Indices drawn with the probabilities that rows of weights give."""
def multiply(input: _Any, other: _Any, *, out: _Any = None) -> _Any:
    """`input * other`."""
def mv(input: _Tensor, vec: _Tensor, *, out: _Any = None) -> _Tensor:
    """The product of a matrix and a vector."""
def mvlgamma(input: _Tensor, p: _builtins.int, *, out: _Any = None) -> _Tensor:
    """The multivariate log-gamma function of dimension p."""
def nan_to_num(input: _Tensor, nan: _builtins.float | None = None, posinf: _builtins.float | None = None, neginf: _builtins.float | None = None, *, out: _Any = None) -> _Tensor:
    """NaN and infinities replaced by finite numbers."""
def nan_to_num_(input: _Tensor, nan: _builtins.float | None = None, posinf: _builtins.float | None = None, neginf: _builtins.float | None = None) -> _Tensor:
    """In-place version of `nan_to_num`."""
def nanmean(input: _Tensor, dim: _builtins.int | _builtins.tuple[_builtins.int, ...] | _builtins.list[_builtins.int] | None = None, keepdim: _builtins.bool = False, *, dtype: _dtype | None = None, out: _Any = None) -> _Tensor:
    """The mean of the elements that are not NaN; NaN where there is none."""
def nanmedian(input: _Tensor, dim: _builtins.int | None = None, keepdim: _builtins.bool = False, *, out: _Any = None) -> _Any:
    """The (lower) median of the elements that are not NaN, and along a dimension also where."""
def nanquantile(input: _Tensor, q: _builtins.float | _Tensor, dim: _builtins.int | None = None, keepdim: _builtins.bool = False, *, interpolation: _builtins.str = 'linear', out: _Any = None) -> _Tensor:
    """Quantiles of the elements that are not NaN."""
def nansum(input: _Tensor, dim: _builtins.int | _builtins.tuple[_builtins.int, ...] | _builtins.list[_builtins.int] | None = None, keepdim: _builtins.bool = False, *, dtype: _dtype | None = None, out: _Any = None) -> _Tensor:
    """The sum of the elements that are not NaN."""
def narrow(input: _Tensor, dim: _builtins.int, start: _Any, length: _builtins.int) -> _Tensor:
    """A view of `length` elements of a dimension, from `start` on."""
def narrow_copy(input: _Tensor, dim: _builtins.int, start: _builtins.int, length: _builtins.int, *, out: _Any = None) -> _Tensor:
    """A copy of `length` elements of a dimension, from `start` on."""
def native_batch_norm(input: _Tensor, weight: _Tensor | None, bias: _Tensor | None, running_mean: _Tensor | None, running_var: _Tensor | None, training: _builtins.bool, momentum: _builtins.float, eps: _builtins.float, *, out: _Any = None) -> _builtins.tuple[_Tensor, _Tensor, _Tensor]:
    """`batch_norm`, and the batch's means and inverse deviations, which are empty in evaluation."""
def native_channel_shuffle(input: _Tensor, groups: _builtins.int) -> _Tensor:
    """Divide the channels into groups and interleave them."""
def native_group_norm(input: _Tensor, weight: _Tensor | None, bias: _Tensor | None, N: _builtins.int, C: _builtins.int, HxW: _builtins.int, group: _builtins.int, eps: _builtins.float) -> _builtins.tuple[_Tensor, _Tensor, _Tensor]:
    """`group_norm`, and the means and inverse deviations that it divided by."""
def native_layer_norm(input: _Tensor, normalized_shape: _Sequence[_builtins.int], weight: _Tensor | None, bias: _Tensor | None, eps: _builtins.float) -> _builtins.tuple[_Tensor, _Tensor, _Tensor]:
    """`layer_norm`, and the means and inverse deviations that it divided by."""
def ne(input: _Tensor, other: _Any, *, out: _Any = None) -> _Tensor:
    """Where elements differ, as a tensor of bools; NaN differs from everything."""
def neg(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """The negative of each element: `-input`."""
def neg_(self: _Tensor) -> _Tensor:
    """In-place version of `neg`."""
def negative(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """The negative of each element: `-input`."""
def negative_(self: _Tensor) -> _Tensor:
    """In-place version of `neg`."""
def nextafter(input: _Tensor, other: _Tensor, *, out: _Any = None) -> _Tensor:
    """The next representable number after `input` towards `other`."""
def nonzero(input: _Tensor, *, as_tuple: _builtins.bool = False, out: _Any = None) -> _Any:
    """The indices of the elements that are not zero."""
def nonzero_static(input: _Tensor, *, size: _builtins.int, fill_value: _builtins.int = -1, out: _Any = None) -> _Tensor:
    """The indices of elements that are not zero, in a result whose shape is known beforehand."""
def norm(input: _Tensor, p: _builtins.float | _builtins.str | None = 'fro', dim: _builtins.int | _builtins.tuple[_builtins.int, ...] | _builtins.list[_builtins.int] | None = None, keepdim: _builtins.bool = False, dtype: _dtype | None = None, *, out: _Any = None) -> _Tensor:
    """The norm over all elements, or over some dimensions."""
def norm_except_dim(v: _Tensor, pow: _builtins.int = 2, dim: _builtins.int = 0) -> _Tensor:
    """Norms over all dimensions but one, which `weight_norm` divides by."""
def normal(mean: _Any, std: _Any = 1.0, size: _Any = None, *, generator: _Generator | _Stream | None = None, dtype: _dtype | None = None, **options: _Any) -> _Tensor:
    """Normal numbers, with tensors or numbers for mean and standard deviation."""
def not_equal(input: _Tensor, other: _Any, *, out: _Any = None) -> _Tensor:
    """Where elements differ, as a tensor of bools; NaN differs from everything."""
def nuclear_norm(input: _Tensor, dim: _Sequence[_builtins.int] | None = None, keepdim: _builtins.bool = False, *, out: _Any = None) -> _Tensor:
    """Deprecated: the sum of the singular values; `linalg.matrix_norm(A, "nuc")` is its newer form."""
def numel(input: _Tensor) -> _builtins.int:
    """The number of elements."""
def ones(*sizes: _Any, size: _Any = None, out: _Tensor | None = None, dtype: _dtype | None = None, **options: _Any) -> _Tensor:
    """A tensor of ones."""
def ones_like(input: _Tensor, *, dtype: _dtype | None = None, memory_format: _memory_format | None = None, **options: _Any) -> _Tensor:
    """Ones in the shape of another tensor."""
def orgqr(input: _Tensor, tau: _Tensor, *, out: _Any = None) -> _Tensor:
    """The first columns of the product of the reflections I - tau_i v_i v_i^H."""
def ormqr(input: _Tensor, tau: _Tensor, other: _Tensor, left: _builtins.bool = True, transpose: _builtins.bool = False, *, out: _Any = None) -> _Tensor:
    """Q times `other`, for the Q that reflections describe, without making Q."""
def outer(input: _Tensor, vec2: _Tensor, *, out: _Any = None) -> _Tensor:
    """The matrix of all products of two vectors' elements."""
def pairwise_distance(x1: _Tensor, x2: _Tensor, p: _builtins.float = 2.0, eps: _builtins.float = 1e-06, keepdim: _builtins.bool = False) -> _Tensor:
    """The p-norm of the difference, along the last dimension."""
def pca_lowrank(A: _Tensor, q: _builtins.int | None = None, center: _builtins.bool = True, niter: _builtins.int = 2) -> _builtins.tuple[_Tensor, _Tensor, _Tensor]:
    """Principal components: `svd_lowrank` of a matrix whose columns are centred first."""
def pdist(input: _Tensor, p: _builtins.float = 2.0) -> _Tensor:
    """The p-norm distances between every pair of rows."""
def permute(input: _Tensor, *args: _Any, dims: _Any = None) -> _Tensor:
    """A view with all dimensions in another order."""
def permute_copy(input: _Tensor, dims: _Any, *, out: _Any = None) -> _Tensor:
    """`permute`, but the result has memory of its own instead of sharing that of `input`."""
def pinverse(input: _Tensor, rcond: _builtins.float = 1e-15) -> _Tensor:
    """The pseudo-inverse; `linalg.pinv` is its newer form."""
def pixel_shuffle(input: _Tensor, upscale_factor: _builtins.int) -> _Tensor:
    """(..., C * r * r, H, W) to (..., C, H * r, W * r)."""
def pixel_unshuffle(input: _Tensor, downscale_factor: _builtins.int) -> _Tensor:
    """(..., C, H * r, W * r) to (..., C * r * r, H, W)."""
def poisson(input: _Tensor, generator: _Generator | _Stream | None = None) -> _Tensor:
    """A number from the Poisson distribution for each rate."""
def poisson_nll_loss(input: _Tensor, target: _Tensor, log_input: _builtins.bool, full: _builtins.bool, eps: _builtins.float, reduction: _builtins.int) -> _Tensor:
    ...
def polar(abs: _Tensor, angle: _Tensor, *, out: _Any = None) -> _Tensor:
    """A complex tensor from its absolute value and angle."""
def polygamma(n: _builtins.int, input: _Tensor, *, out: _Any = None) -> _Tensor:
    """The n-th derivative of the digamma function."""
def positive(input: _Tensor) -> _Tensor:
    """`+input`: the tensor itself, which must not be of bools."""
def pow(input: _Any, exponent: _Any, *, out: _Any = None) -> _Tensor:
    """`input ** exponent`; either may be a number, but not both."""
def prelu(input: _Tensor, weight: _Tensor) -> _Tensor:
    """`x` above 0, `weight * x` below, with a weight for each channel or one for all."""
def prod(input: _Tensor, dim: _builtins.int | None = None, keepdim: _builtins.bool = False, *, dtype: _dtype | None = None, out: _Any = None) -> _Tensor:
    """The product over one dimension, or over all."""
def put(input: _Tensor, index: _Tensor, source: _Tensor, accumulate: _builtins.bool = False) -> _Tensor:
    """A copy with `source` written (or added) at flat positions."""
def qr(input: _Tensor, some: _builtins.bool = True, *, out: _Any = None) -> _qr:
    """The QR decomposition; `linalg.qr` is its newer form."""
def quantile(input: _Tensor, q: _builtins.float | _Tensor, dim: _builtins.int | None = None, keepdim: _builtins.bool = False, *, interpolation: _builtins.str = 'linear', out: _Any = None) -> _Tensor:
    """Quantiles of all elements, or along a dimension; several `q` come first in the result."""
def rad2deg(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """Radians as degrees: `input * 180 / pi`."""
def rad2deg_(self: _Tensor) -> _Tensor:
    """In-place version of `rad2deg`."""
def rand(*sizes: _Any, size: _Any = None, generator: _Generator | _Stream | None = None, out: _Tensor | None = None, dtype: _dtype | None = None, **options: _Any) -> _Tensor:
    """Uniform numbers from [0, 1)."""
def rand_like(input: _Tensor, *, generator: _Generator | _Stream | None = None, dtype: _dtype | None = None, memory_format: _memory_format | None = None, **options: _Any) -> _Tensor:
    """Uniform numbers from [0, 1) in the shape of another tensor."""
def randint(*args: _Any, low: _builtins.int | None = None, high: _builtins.int | None = None, size: _Any = None, generator: _Generator | _Stream | None = None, out: _Tensor | None = None, dtype: _dtype | None = None, **options: _Any) -> _Tensor:
    """Uniform integers from [low, high): `randint(high, size)` or `randint(low, high, size)`."""
def randint_like(input: _Tensor, *args: _Any, low: _builtins.int | None = None, high: _builtins.int | None = None, generator: _Generator | _Stream | None = None, dtype: _dtype | None = None, memory_format: _memory_format | None = None, **options: _Any) -> _Tensor:
    """Uniform integers from [low, high) in the shape and dtype of another tensor."""
def randn(*sizes: _Any, size: _Any = None, generator: _Generator | _Stream | None = None, out: _Tensor | None = None, dtype: _dtype | None = None, **options: _Any) -> _Tensor:
    """Standard normal numbers: of mean 0 and standard deviation 1."""
def randn_like(input: _Tensor, *, generator: _Generator | _Stream | None = None, dtype: _dtype | None = None, memory_format: _memory_format | None = None, **options: _Any) -> _Tensor:
    """Standard normal numbers in the shape of another tensor."""
def randperm(n: _builtins.int, *, generator: _Generator | _Stream | None = None, out: _Tensor | None = None, dtype: _dtype | None = None, **options: _Any) -> _Tensor:
    """The integers below n in random order."""
def range(start: _Any = 0, end: _Any = None, step: _Any = 1, *, out: _Tensor | None = None, dtype: _dtype | None = None, **options: _Any) -> _Tensor:
    """Deprecated: numbers from start to end, both included; `arange` leaves the end out."""
def ravel(input: _Tensor) -> _Tensor:
    """All elements in one dimension: a view where possible, else a copy."""
def real(input: _Tensor) -> _Tensor:
    """The real part, as a view; a real tensor itself."""
def reciprocal(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """`1 / input`."""
def reciprocal_(self: _Tensor) -> _Tensor:
    """In-place version of `reciprocal`."""
def relu(input: _Tensor) -> _Tensor:
    """The rectified linear unit: `max(input, 0)`."""
def relu_(self: _Tensor) -> _Tensor:
    """In-place version of `relu`."""
def remainder(input: _Any, other: _Any, *, out: _Any = None) -> _Tensor:
    """The remainder of a division that rounds down, as Python's `%`."""
def renorm(input: _Tensor, p: _builtins.float, dim: _builtins.int, maxnorm: _builtins.float, *, out: _Any = None) -> _Tensor:
    """Scale each slice along `dim` down to a norm of at most `maxnorm`."""
def repeat_interleave(input: _Tensor, repeats: _Any = None, dim: _builtins.int | None = None, *, output_size: _builtins.int | None = None) -> _Tensor:
    """Each slice of a dimension, a number of times in a row."""
def reshape(input: _Tensor, *args: _Any, shape: _Any = None) -> _Tensor:
    """The same elements in another shape: a view where possible, else a copy."""
def resize_as_(self: _Tensor, the_template: _Tensor, *, memory_format: _Any = None) -> _Tensor:
    """Give this tensor the size of another; see `resize_`."""
def resolve_conj(input: _Tensor) -> _Tensor:
    """A copy of a conjugate view, with the conjugates in its memory; any other tensor itself."""
def resolve_neg(input: _Tensor) -> _Tensor:
    """A copy of a negative view, with the negatives in its memory; any other tensor itself."""
def result_type(tensor1: _Any, tensor2: _Any) -> _dtype:
    """The dtype that arithmetic between two operands would have."""
def rms_norm(input: _Tensor, normalized_shape: _Sequence[_builtins.int], weight: _Tensor | None = None, eps: _builtins.float | None = None) -> _Tensor:
    """The input divided by its root mean square over the last dimensions, then scaled."""
def rnn_relu(*args: _Any, **kwargs: _Any) -> _builtins.tuple[_Tensor, ...]:
    ...
def rnn_relu_cell(input: _Tensor, hx: _Tensor, w_ih: _Tensor, w_hh: _Tensor, b_ih: _Tensor | None = None, b_hh: _Tensor | None = None) -> _Tensor:
    """One step of a plain recurrent network with relu."""
def rnn_tanh(*args: _Any, **kwargs: _Any) -> _builtins.tuple[_Tensor, ...]:
    ...
def rnn_tanh_cell(input: _Tensor, hx: _Tensor, w_ih: _Tensor, w_hh: _Tensor, b_ih: _Tensor | None = None, b_hh: _Tensor | None = None) -> _Tensor:
    """One step of a plain recurrent network with tanh."""
def roll(input: _Tensor, shifts: _Any, dims: _Any = ...) -> _Tensor:
    """A copy with elements shifted; what falls off the end comes back at the start."""
def rot90(input: _Tensor, k: _builtins.int = 1, dims: _Sequence[_builtins.int] = ...) -> _Tensor:
    """A copy rotated by quarter turns in the plane of two dimensions."""
def round(input: _Tensor, *, decimals: _builtins.int | None = None, out: _Any = None) -> _Tensor:
    """The nearest integer, or multiple of 10^-decimals; halves go to the even neighbour."""
def round_(input: _Tensor, *, decimals: _builtins.int | None = None) -> _Tensor:
    """In-place version of `round`."""
def row_stack(tensors: _Any, *, out: _Any = None) -> _Tensor:
    """Join as rows: along the first dimension."""
def rrelu(input: _Tensor, lower: _builtins.float = 0.125, upper: _builtins.float = 0.3333333333333333, training: _builtins.bool = False) -> _Tensor:
    ...
def rrelu_(input: _Tensor, lower: _builtins.float = 0.125, upper: _builtins.float = 0.3333333333333333, training: _builtins.bool = False) -> _Tensor:
    """In-place version of `rrelu`."""
def rsqrt(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """The reciprocal of the square root: `1 / sqrt(input)`."""
def rsqrt_(self: _Tensor) -> _Tensor:
    """In-place version of `rsqrt`."""
def rsub(input: _Tensor, other: _Any, *, alpha: _builtins.complex = 1) -> _Tensor:
    """`other - alpha * input`: a subtraction with its operands exchanged."""
def scalar_tensor(s: _Any, *, dtype: _dtype | None = None, **options: _Any) -> _Tensor:
    """A 0-dim tensor of the default dtype, or of the one given."""
def scatter(input: _Tensor, dim: _builtins.int, index: _Tensor, src: _Any = None, *, value: _Any = None, reduce: _builtins.str | None = None, out: _Any = None) -> _Tensor:
    """A copy with `out[index[i, j], j] = src[i, j]` (for `dim=0`), or with one value."""
def scatter_add(input: _Tensor, dim: _builtins.int, index: _Tensor, src: _Tensor, *, out: _Any = None) -> _Tensor:
    """A copy with `out[index[i, j], j] += src[i, j]` (for `dim=0`)."""
def scatter_reduce(input: _Tensor, dim: _builtins.int, index: _Tensor, src: _Tensor, reduce: _builtins.str, *, include_self: _builtins.bool = True, out: _Any = None) -> _Tensor:
    """A copy into which `src` is reduced at indices of a dimension."""
def searchsorted(sorted_sequence: _Tensor, input: _Any, *, out_int32: _builtins.bool = False, right: _builtins.bool = False, side: _builtins.str | None = None, sorter: _Tensor | None = None, out: _Any = None) -> _Tensor:
    """Where values would be inserted into a sorted sequence (its last dimension)."""
def segment_reduce(data: _Tensor, reduce: _builtins.str, *, lengths: _Tensor | None = None, indices: _Tensor | None = None, offsets: _Tensor | None = None, axis: _builtins.int = 0, unsafe: _builtins.bool = False, initial: _builtins.float | None = None) -> _Tensor:
    """Reduces consecutive segments of a dimension, one result for each."""
def select(input: _Tensor, dim: _builtins.int, index: _Any) -> _Tensor:
    """A view at one index of a dimension, which is removed."""
def select_copy(input: _Tensor, dim: _builtins.int, index: _Any, *, out: _Any = None) -> _Tensor:
    """`select`, but the result has memory of its own instead of sharing that of `input`."""
def select_scatter(input: _Tensor, src: _Tensor, dim: _builtins.int, index: _builtins.int, *, out: _Any = None) -> _Tensor:
    """A copy with `src` at one index of a dimension: what writing to `select` gives."""
def selu(input: _Tensor) -> _Tensor:
    ...
def selu_(input: _Tensor) -> _Tensor:
    """In-place version of `selu`."""
def set_default_tensor_type(t: _Any) -> None:
    """Deprecated: set the default dtype by the name or class of a legacy tensor type."""
def set_printoptions(precision: _builtins.int | None = None, threshold: _builtins.float | None = None, edgeitems: _builtins.int | None = None, linewidth: _builtins.float | None = None, profile: _builtins.str | None = None, sci_mode: _builtins.bool | None = None) -> None:
    """Change how tensors print."""
def sgn(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """The sign of real numbers, the direction (`input / |input|`) of complex ones; 0 at 0."""
def sigmoid(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """The logistic function `1 / (1 + exp(-input))`, which has values between 0 and 1."""
def sigmoid_(self: _Tensor) -> _Tensor:
    """In-place version of `sigmoid`."""
def sign(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """-1, 0 or 1: the sign of each element; 0 for NaN."""
def signbit(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """Where the sign bit is set, as a tensor of bools: for negative numbers and for -0."""
def sin(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """The sine of angles in radians."""
def sin_(self: _Tensor) -> _Tensor:
    """In-place version of `sin`."""
def sinc(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """`sin(pi * input) / (pi * input)`, and 1 at 0."""
def sinc_(self: _Tensor) -> _Tensor:
    """In-place version of `sinc`."""
def sinh(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """The hyperbolic sine: `(exp(input) - exp(-input)) / 2`."""
def sinh_(self: _Tensor) -> _Tensor:
    """In-place version of `sinh`."""
def slice_copy(input: _Tensor, dim: _builtins.int = 0, start: _builtins.int | None = None, end: _builtins.int | None = None, step: _builtins.int = 1, *, out: _Any = None) -> _Tensor:
    """`slice`, but the result has memory of its own instead of sharing that of `input`."""
def slice_scatter(input: _Tensor, src: _Tensor, dim: _builtins.int = 0, start: _builtins.int | None = None, end: _builtins.int | None = None, step: _builtins.int = 1, *, out: _Any = None) -> _Tensor:
    """A copy with `src` in a slice of a dimension: what writing to the slice gives."""
def slogdet(A: _Tensor, *, out: _Any = None) -> _linalg_slogdet:
    """The sign (or phase) of the determinant and the logarithm of its absolute value."""
def smm(self: _Tensor, *args: _Any, **kwargs: _Any) -> _Any:
    """The product of a sparse and a strided matrix, as a sparse one."""
def softmax(input: _Tensor, dim: _builtins.int, dtype: _dtype | None = None, *, out: _Any = None) -> _Tensor:
    """exp(x) divided by its sum along a dimension."""
def solve(input: _Tensor, *args: _Any, **kwargs: _Any) -> _Any:
    """Removed: `linalg.solve(A, B)`, with the arguments the other way around."""
def sort(input: _Tensor, dim: _builtins.int = -1, descending: _builtins.bool = False, stable: _builtins.bool | None = None, *, out: _Any = None) -> _sort:
    """The elements in order along a dimension, and where they were."""
def split(tensor: _Tensor, split_size_or_sections: _Any, dim: _builtins.int = 0) -> _builtins.tuple[_Tensor, ...]:
    """Views of pieces of a given size, or of several given sizes."""
def split_copy(input: _Tensor, split_size: _builtins.int, dim: _builtins.int = 0, *, out: _Any = None) -> _builtins.tuple[_Tensor, ...]:
    """`split`, but the result has memory of its own instead of sharing that of `input`."""
def split_with_sizes(input: _Tensor, split_sizes: _Any, dim: _builtins.int = 0) -> _builtins.tuple[_Tensor, ...]:
    """Views of pieces of given sizes."""
def split_with_sizes_copy(input: _Tensor, split_sizes: _Any, dim: _builtins.int = 0, *, out: _Any = None) -> _builtins.tuple[_Tensor, ...]:
    """`split_with_sizes`, but the result has memory of its own instead of sharing that of `input`."""
def spmm(input: _Tensor, mat2: _Tensor, *, out: _Any = None) -> _Tensor:
    """The product of two matrices."""
def sqrt(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """The square root; NaN below 0."""
def sqrt_(self: _Tensor) -> _Tensor:
    """In-place version of `sqrt`."""
def square(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """`input ** 2`."""
def square_(input: _Tensor) -> _Tensor:
    """In-place version of `square`."""
def squeeze(input: _Tensor, dim: _Any = None, *more: _builtins.int) -> _Tensor:
    """A view without dimensions of size 1: all, one, or some."""
def squeeze_copy(input: _Tensor, dim: _Any = ..., *, out: _Any = None) -> _Tensor:
    """`squeeze`, but the result has memory of its own instead of sharing that of `input`."""
def sspaddmm(self: _Tensor, *args: _Any, **kwargs: _Any) -> _Any:
    """beta · input + alpha · mat1 · mat2, as a sparse matrix."""
def stack(tensors: _Any, dim: _builtins.int = 0, *, out: _Any = None) -> _Tensor:
    """Join tensors of one shape along a new dimension."""
def std(input: _Tensor, dim: _builtins.int | _builtins.tuple[_builtins.int, ...] | _builtins.list[_builtins.int] | None | _builtins.bool = None, unbiased: _builtins.bool = ..., keepdim: _builtins.bool = False, *, correction: _builtins.float | None = ..., out: _Any = None) -> _Tensor:
    """The standard deviation: the square root of `var`."""
def std_mean(input: _Tensor, dim: _builtins.int | _builtins.tuple[_builtins.int, ...] | _builtins.list[_builtins.int] | None | _builtins.bool = None, unbiased: _builtins.bool = ..., keepdim: _builtins.bool = False, *, correction: _builtins.float | None = ...) -> _builtins.tuple[_Tensor, _Tensor]:
    """The standard deviation and the mean, in that order."""
def stft(input: _Tensor, n_fft: _builtins.int, hop_length: _builtins.int | None = None, win_length: _builtins.int | None = None, window: _Tensor | None = None, center: _builtins.bool = True, pad_mode: _builtins.str = 'reflect', normalized: _builtins.bool = False, onesided: _builtins.bool | None = None, return_complex: _builtins.bool | None = None, align_to_window: _builtins.bool | None = None) -> _Tensor:
    """The Fourier transforms of overlapping windows of a signal: (..., frequency, frame)."""
def sub(input: _Any, other: _Any, *, alpha: _builtins.complex = 1, out: _Any = None) -> _Tensor:
    """`input - alpha * other`."""
def subtract(input: _Any, other: _Any, *, alpha: _builtins.complex = 1, out: _Any = None) -> _Tensor:
    """`input - alpha * other`."""
def sum(input: _Tensor, dim: _builtins.int | _builtins.tuple[_builtins.int, ...] | _builtins.list[_builtins.int] | None = None, keepdim: _builtins.bool = False, *, dtype: _dtype | None = None, out: _Any = None) -> _Tensor:
    """The sum over some dimensions, or over all."""
def svd(input: _Tensor, some: _builtins.bool = True, compute_uv: _builtins.bool = True, *, out: _Any = None) -> _svd:
    """The singular value decomposition with V instead of Vh; `linalg.svd` is its newer form."""
def svd_lowrank(A: _Tensor, q: _builtins.int | None = 6, niter: _builtins.int | None = 2, M: _Tensor | None = None) -> _builtins.tuple[_Tensor, _Tensor, _Tensor]:
    """The singular value decomposition of a matrix that is about of rank q: A ≈ U diag(S) Vᴴ."""
def swapaxes(input: _Tensor, axis0: _builtins.int, axis1: _builtins.int) -> _Tensor:
    """Swap two dimensions; NumPy's name for `transpose`."""
def swapdims(input: _Tensor, dim0: _builtins.int, dim1: _builtins.int) -> _Tensor:
    """Swap two dimensions; another name for `transpose`."""
def symeig(input: _Tensor, *args: _Any, **kwargs: _Any) -> _Any:
    """Removed: `linalg.eigh(A, UPLO)`, which reads the lower triangle unless told otherwise."""
def t(input: _Tensor) -> _Tensor:
    """The transpose of a matrix, as a view; vectors and numbers stay as they are."""
def t_copy(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """`t`, but the result has memory of its own instead of sharing that of `input`."""
def take(input: _Tensor, index: _Tensor, *, out: _Any = None) -> _Tensor:
    """The elements at flat positions, as if `input` had one dimension."""
def take_along_dim(input: _Tensor, indices: _Tensor, dim: _builtins.int | None = None, *, out: _Any = None) -> _Tensor:
    """Gather along a dimension; the other dimensions broadcast."""
def tan(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """The tangent of angles in radians."""
def tan_(self: _Tensor) -> _Tensor:
    """In-place version of `tan`."""
def tanh(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """The hyperbolic tangent, which has values between -1 and 1."""
def tanh_(self: _Tensor) -> _Tensor:
    """In-place version of `tanh`."""
def tensor(data: _Any, *, dtype: _dtype | None = None, device: _Any = None, requires_grad: _builtins.bool = False, pin_memory: _builtins.bool = False) -> _Tensor:
    """A new leaf with a copy of `data`."""
def tensor_split(input: _Tensor, indices_or_sections: _builtins.int | _Sequence[_builtins.int] | _Tensor | None = None, dim: _builtins.int = 0, *, sections: _builtins.int | _Sequence[_builtins.int] | _Tensor | None = None, indices: _builtins.int | _Sequence[_builtins.int] | _Tensor | None = None) -> _builtins.tuple[_Tensor, ...]:
    """Views between the given indices, or of a number of nearly equal sections."""
def tensordot(a: _Tensor, b: _Tensor, dims: _Any = 2, *, out: _Tensor | None = None) -> _Tensor:
    """Contract dimensions of two tensors: the last and first `dims`, or the two lists given."""
def threshold(input: _Tensor, threshold: _builtins.complex, value: _builtins.complex, *, out: _Any = None) -> _Tensor:
    ...
def threshold_(input: _Tensor, threshold: _builtins.complex, value: _builtins.complex) -> _Tensor:
    """In-place version of `threshold`."""
def tile(input: _Tensor, *args: _Any, dims: _Any = None) -> _Tensor:
    """Copies of the tensor side by side; missing leading numbers count as 1."""
def topk(input: _Tensor, k: _builtins.int, dim: _builtins.int = -1, largest: _builtins.bool = True, sorted: _builtins.bool = True, *, out: _Any = None) -> _topk:
    """The k largest (or smallest) elements along a dimension, in order, and where."""
def trace(input: _Tensor) -> _Tensor:
    """The sum of a matrix's diagonal."""
def transpose(input: _Tensor, dim0: _builtins.int, dim1: _builtins.int) -> _Tensor:
    """A view with two dimensions swapped."""
def transpose_copy(input: _Tensor, dim0: _builtins.int, dim1: _builtins.int, *, out: _Any = None) -> _Tensor:
    """`transpose`, but the result has memory of its own instead of sharing that of `input`."""
def trapezoid(y: _Tensor, x: _Tensor | None = None, *, dx: _builtins.complex | None = None, dim: _builtins.int = -1) -> _Tensor:
    """The integral of sampled values by the trapezoidal rule."""
def trapz(y: _Tensor, x: _Tensor | None = None, *, dx: _builtins.complex | None = None, dim: _builtins.int = -1) -> _Tensor:
    """The integral of sampled values by the trapezoidal rule."""
def triangular_solve(b: _Tensor, A: _Tensor, upper: _builtins.bool = True, transpose: _builtins.bool = False, unitriangular: _builtins.bool = False, *, out: _Any = None) -> _triangular_solve:
    """The solution of A X = b for triangular A, and A itself (old form of `solve_triangular`)."""
def tril(input: _Tensor, diagonal: _builtins.int = 0, *, out: _Any = None) -> _Tensor:
    """The lower triangle of matrices: a copy with zeros above a diagonal."""
def tril_indices(row: _builtins.int, col: _builtins.int, offset: _builtins.int = 0, *, dtype: _dtype | None = None, **options: _Any) -> _Tensor:
    """Row and column numbers of the lower triangle of a matrix, as the two rows of a tensor."""
def triplet_margin_loss(anchor: _Tensor, positive: _Tensor, negative: _Tensor, margin: _builtins.float = 1.0, p: _builtins.float = 2.0, eps: _builtins.float = 1e-06, swap: _builtins.bool = False, reduction: _builtins.int = 0) -> _Tensor:
    ...
def triu(input: _Tensor, diagonal: _builtins.int = 0, *, out: _Any = None) -> _Tensor:
    """The upper triangle of matrices: a copy with zeros below a diagonal."""
def triu_indices(row: _builtins.int, col: _builtins.int, offset: _builtins.int = 0, *, dtype: _dtype | None = None, **options: _Any) -> _Tensor:
    """Row and column numbers of the upper triangle of a matrix, as the two rows of a tensor."""
def true_divide(input: _Tensor, other: _Any, *, out: _Any = None) -> _Tensor:
    """`input / other`; integers give the default float."""
def trunc(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """Each element without its fraction: rounded towards zero."""
def trunc_(self: _Tensor) -> _Tensor:
    """In-place version of `trunc`."""
def typename(obj: _Any) -> _builtins.str:
    """The legacy name of a tensor's type, or the full name of any other object's type."""
def unbind(input: _Tensor, dim: _builtins.int = 0) -> _builtins.tuple[_Tensor, ...]:
    """Views at every index of a dimension, which is removed."""
def unbind_copy(input: _Tensor, dim: _builtins.int = 0, *, out: _Any = None) -> _builtins.tuple[_Tensor, ...]:
    """`unbind`, but the result has memory of its own instead of sharing that of `input`."""
def unflatten(input: _Tensor, dim: _builtins.int, sizes: _Any) -> _Tensor:
    """Split one dimension into several."""
def unfold_copy(input: _Tensor, dimension: _builtins.int, size: _builtins.int, step: _builtins.int, *, out: _Any = None) -> _Tensor:
    """`unfold`, but the result has memory of its own instead of sharing that of `input`."""
def unique(input: _Tensor, sorted: _builtins.bool = True, return_inverse: _builtins.bool = False, return_counts: _builtins.bool = False, dim: _builtins.int | None = None) -> _Any:
    """The distinct elements in order, or the distinct slices along a dimension."""
def unique_consecutive(input: _Tensor, return_inverse: _builtins.bool = False, return_counts: _builtins.bool = False, dim: _builtins.int | None = None) -> _Any:
    """The first element of each run of equal elements (or slices along a dimension)."""
def unravel_index(indices: _Tensor, shape: _Any) -> _builtins.tuple[_Tensor, ...]:
    """The coordinates, one tensor per dimension, of flat positions in a row-major tensor."""
def unsafe_chunk(input: _Tensor, chunks: _builtins.int, dim: _builtins.int = 0) -> _builtins.tuple[_Tensor, ...]:
    """At most `chunks` pieces of equal size that may each be written to; see `unsafe_split`."""
def unsafe_split(input: _Tensor, split_size: _builtins.int, dim: _builtins.int = 0) -> _builtins.tuple[_Tensor, ...]:
    """Pieces of a given size that may each be written to."""
def unsafe_split_with_sizes(input: _Tensor, split_sizes: _Any, dim: _builtins.int = 0) -> _builtins.tuple[_Tensor, ...]:
    """Pieces of given sizes that may each be written to; see `unsafe_split`."""
def unsqueeze(input: _Tensor, dim: _builtins.int) -> _Tensor:
    """A view with a dimension of size 1 inserted."""
def unsqueeze_copy(input: _Tensor, dim: _builtins.int, *, out: _Any = None) -> _Tensor:
    """`unsqueeze`, but the result has memory of its own instead of sharing that of `input`."""
def vander(x: _Tensor, N: _builtins.int | None = None, increasing: _builtins.bool = False) -> _Tensor:
    """The Vandermonde matrix: columns of powers of the elements of x."""
def var(input: _Tensor, dim: _builtins.int | _builtins.tuple[_builtins.int, ...] | _builtins.list[_builtins.int] | None | _builtins.bool = None, unbiased: _builtins.bool = ..., keepdim: _builtins.bool = False, *, correction: _builtins.float | None = ..., out: _Any = None) -> _Tensor:
    """The variance: squared deviations from the mean, summed and divided by `n - correction`."""
def var_mean(input: _Tensor, dim: _builtins.int | _builtins.tuple[_builtins.int, ...] | _builtins.list[_builtins.int] | None | _builtins.bool = None, unbiased: _builtins.bool = ..., keepdim: _builtins.bool = False, *, correction: _builtins.float | None = ...) -> _builtins.tuple[_Tensor, _Tensor]:
    """The variance and the mean, in that order."""
def vdot(input: _Tensor, other: _Tensor, *, out: _Any = None) -> _Tensor:
    """The dot product with the first vector conjugated."""
def view_as_complex(input: _Tensor) -> _Tensor:
    """A complex view of a real tensor, whose last dimension holds the two parts."""
def view_as_complex_copy(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """`view_as_complex`, but the result has memory of its own instead of sharing that of `input`."""
def view_as_real(input: _Tensor) -> _Tensor:
    """A real view of a complex tensor, with real and imaginary part as a last dimension."""
def view_as_real_copy(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """`view_as_real`, but the result has memory of its own instead of sharing that of `input`."""
def view_copy(input: _Tensor, size: _Any = None, *, dtype: _Any = None, out: _Any = None) -> _Tensor:
    """`view`, but the result has memory of its own instead of sharing that of `input`."""
def vsplit(input: _Tensor, indices_or_sections: _builtins.int | _Sequence[_builtins.int]) -> _builtins.tuple[_Tensor, ...]:
    """Split along the first dimension."""
def vstack(tensors: _Any, *, out: _Any = None) -> _Tensor:
    """Join as rows: along the first dimension."""
def where(condition: _Tensor, input: _Any = None, other: _Any = None, *, out: _Any = None) -> _Any:
    """`input` where the condition holds, else `other`."""
def xlogy(input: _Any, other: _Any, *, out: _Any = None) -> _Tensor:
    """`input * log(other)`, and 0 where input is 0."""
def xlogy_(input: _Any, other: _Any) -> _Tensor:
    """In-place version of `xlogy`."""
def zero_(self: _Tensor) -> _Tensor:
    """Set every element to zero."""
def zeros(*sizes: _Any, size: _Any = None, out: _Tensor | None = None, dtype: _dtype | None = None, **options: _Any) -> _Tensor:
    """A tensor of zeros."""
def zeros_like(input: _Tensor, *, dtype: _dtype | None = None, memory_format: _memory_format | None = None, **options: _Any) -> _Tensor:
    """Zeros in the shape of another tensor."""
