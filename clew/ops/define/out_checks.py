"""What operations ask of `out=`: its dtype, and memory of its own.

Before they run, for `@public(out=...)`; or once there is a result, for `@public(accept=...)`.
Operations that say nothing convert their result to the dtype of `out`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.inplace import check_overlap, may_share, refuse_leaf, repeats_memory
from clew.core.public import Accept
from clew.core.tensor import Tensor, wrap
from clew.kernels.numpy.strides import resized
from clew.ops.define.dims import wrap_dims

# The same where the function has run: for `out_form`.
EXACT_OUT = "Expected out tensor to have dtype {c_expected}, but got {c_found} instead"

Args = tuple[Any, ...]
Kwargs = dict[str, Any]
Words = Callable[[dtypes.dtype, dtypes.dtype], str]


def expected_dtype(want: dtypes.dtype, have: dtypes.dtype) -> str:
    return f"Expected out tensor to have dtype {want.c_name}, but got {have.c_name} instead"


def same_scalar_type(name: str) -> Words:
    return lambda want, have: f"{name}(): self and result must have the same scalar type"


def take_words(want: dtypes.dtype, have: dtypes.dtype) -> str:
    return (
        "take(): self and out expected to have the same dtype, but got self.dtype = "
        f"{want.scalar_name} and out.dtype = {have.scalar_name}"
    )


def extreme_words(want: dtypes.dtype, have: dtypes.dtype) -> str:
    return (
        "Expected the dtype for input and out to match, but got "
        f"{want.scalar_name} for input's dtype and {have.scalar_name} for out's dtype."
    )


def scan_words(want: dtypes.dtype, have: dtypes.dtype) -> str:
    return f"expected scalar_type {want.scalar_name} but found {have.scalar_name}"


def found_scalar_type(want: dtypes.dtype, have: dtypes.dtype) -> str:
    return f"expected scalar type {want.scalar_name} but found {have.scalar_name}"


def found_dtype(want: dtypes.dtype, have: dtypes.dtype) -> str:
    return f"Found dtype {have.scalar_name} but expected {want.scalar_name}"


def vecdot_words(want: dtypes.dtype, have: dtypes.dtype) -> str:
    return f"linalg.vecdot: Expected out of dtype{want.scalar_name} but found {have.scalar_name}"


def multi_dot_words(want: dtypes.dtype, have: dtypes.dtype) -> str:
    return f"multi_dot(): expected out tensor to have dtype {want.c_name} but got {have.c_name}"


def tensordot_words(want: dtypes.dtype, have: dtypes.dtype) -> str:
    return (
        f"tensordot: Expected the output tensor to have dtype {want.scalar_name}, but got an "
        f"output tensor with dtype {have.scalar_name}"
    )


def where_words(want: dtypes.dtype, have: dtypes.dtype) -> str:
    return f"Expected out type to be {want.scalar_name} but got {have.scalar_name}"


def quantile_words(want: dtypes.dtype, have: dtypes.dtype) -> str:
    return "quantile() out tensor must be same dtype as the input tensor"


def kthvalue_words(want: dtypes.dtype, have: dtypes.dtype) -> str:
    return "output values must be of same type as input"


def kthvalue_index_words(want: dtypes.dtype, have: dtypes.dtype) -> str:
    return "output indices must be of scalar type Long"


def mode_words(role: str) -> Words:
    return lambda want, have: (
        f"expected scalar type '{want.scalar_name}' but got '{have.scalar_name}' for {role} output"
    )


def median_words(want: dtypes.dtype, have: dtypes.dtype) -> str:
    return (
        "Expected tensor for 'values' to have the same type as tensor for argument #2 'self'; but "
        f"type {_type_name(have)} does not equal {_type_name(want)} (while checking arguments for "
        "median)"
    )


def median_index_words(want: dtypes.dtype, have: dtypes.dtype) -> str:
    return (
        "Expected tensor for argument #1 'indices' to have scalar type Long; but got "
        f"{_type_name(have)} instead (while checking arguments for median)"
    )


def _type_name(dtype: dtypes.dtype) -> str:
    """PyTorch's name of a tensor's type; bools and complex numbers have none to be proud of."""
    name = dtype.scalar_name
    return f"CPU{name}Type" if name == "Bool" or dtype.is_complex else f"torch.{name}Tensor"


def histogram_words(role: str) -> Words:
    return lambda want, have: (
        f"torch.histogram: input tensor and {role} tensor should have the same dtype, but got "
        f"input {want.c_name} and {role} {have.c_name}"
        + (" for dimension 0" if role == "bin_edges" else "")
    )


def search_words(want: dtypes.dtype, have: dtypes.dtype) -> str:
    return (
        "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or "
        "Long(int64) depending on whether out_int32 flag is True, but we got output tensor's dtype "
        f"{have.scalar_name} and out_int32 flag is {want is dtypes.int32}"
    )


def mantissa_words(want: dtypes.dtype, have: dtypes.dtype) -> str:
    return f"torch.frexp() expects mantissa to have dtype {want.c_name} but got {have.c_name}"


def exponent_words(want: dtypes.dtype, have: dtypes.dtype) -> str:
    return f"torch.frexp() expects exponent to have int dtype but got {have.c_name}"


def norm_words(name: str) -> Words:
    return lambda want, have: (
        f"{name} expected out tensor dtype {want.scalar_name} but got: {have.scalar_name}"
    )


def require_dtype(want: dtypes.dtype, out: Tensor, words: Words = expected_dtype) -> None:
    """`out` must have this dtype."""
    if out.dtype is not want:
        raise RuntimeError(words(want, out.dtype) + errors.at_user_line())


def keep_apart(tensors: list[Tensor], out: Tensor) -> None:
    """`out` must share no memory with any of the tensors."""
    for each in tensors:
        if each is out or (
            may_share(each._storage, out._storage) and np.may_share_memory(each._array, out._array)
        ):
            raise errors.partial_overlap()


def input_dtype(words: Words = expected_dtype, may_alias: bool = False) -> Any:
    """`out` must have the dtype of the input and, mostly, memory of its own."""

    def check(args: Args, kwargs: Kwargs, out: Tensor) -> None:
        given = [*args, *kwargs.values()]
        require_dtype(given[0].dtype, out, words)
        if not may_alias:
            keep_apart([each for each in given if isinstance(each, Tensor)], out)

    return check


def gather_out(args: Args, kwargs: Kwargs, out: Tensor) -> None:
    """The input's dtype, and memory of its own, also once it has the shape of the index."""
    input_dtype()(args, kwargs, out)
    index = args[2] if len(args) > 2 else kwargs.get("index")
    array = out._array
    if isinstance(index, Tensor) and index._array.shape != array.shape:
        strides = np.empty(index._array.shape, array.dtype).strides
        grown = resized(array, index._array.shape, strides)
        if grown is not None and np.may_share_memory(grown, index._array):
            raise errors.partial_overlap()


def pair_of_input_dtype(args: Args, kwargs: Kwargs, out: tuple[Tensor, Tensor]) -> None:
    for each in out:
        require_dtype([*args, *kwargs.values()][0].dtype, each, expected_dtype)


def extreme_and_index(args: Args, kwargs: Kwargs, out: Any) -> None:
    """For `max` and `min` along a dimension: the input's dtype and int64."""
    own_memory(args, kwargs, out)
    if isinstance(out, (tuple, list)):
        require_dtype([*args, *kwargs.values()][0].dtype, out[0])
        require_dtype(dtypes.int64, out[1])
    else:
        same_or_apart(args, kwargs, out)


def same_or_apart(args: Args, kwargs: Kwargs, out: Any) -> None:
    """`out` may be an input, but must not share a part of its memory."""
    for each in out if isinstance(out, (tuple, list)) else (out,):
        check_overlap((each, *args, *kwargs.values()))


def own_memory(args: Args, kwargs: Kwargs, out: Any) -> None:
    """The two tensors given as `out=` must not share memory with the input."""
    for each in out if isinstance(out, (tuple, list)) and args else ():
        keep_apart([args[0]], each)


def decides_dtype(args: Args, kwargs: Kwargs, out: Tensor) -> None:
    """Where `dtype=` is not given, the operation computes in the dtype of `out`."""
    require_given_dtype(kwargs, out)
    same_or_apart(args, {}, out)


def require_given_dtype(kwargs: Kwargs, out: Tensor) -> None:
    if kwargs.get("dtype") is not None:
        require_dtype(dtypes.of_python(kwargs["dtype"]), out, expected_dtype)
    kwargs["dtype"] = out.dtype


def mean_out(args: Args, kwargs: Kwargs, out: Tensor) -> None:
    """A dtype that is asked for is that of `out`."""
    if kwargs.get("dtype") is not None:
        require_dtype(dtypes.of_python(kwargs["dtype"]), out, expected_dtype)


def starts_from(identity: int) -> Any:
    """For sums and products: `out` may lie in the memory of the input, which is then lost.

    PyTorch fills `out` with what the reduction starts from before it reads the input.
    """

    def check(args: Args, kwargs: Kwargs, out: Tensor) -> Args | None:
        input = args[0] if args else kwargs["input"]
        require_given_dtype(kwargs, out)
        array = out._array
        if input is out and array.ndim:
            lost = wrap(np.full_like(array, identity))
            if args:
                return (lost, *args[1:])
            kwargs["input"] = lost
        elif np.may_share_memory(input._array, array) and not repeats_memory(array):
            # A dimension that does not exist is said before anything is lost.
            dim = args[1] if len(args) > 1 else kwargs.get("dim", kwargs.get("axis"))
            keepdim = args[2] if len(args) > 2 else kwargs.get("keepdim", False)
            shape = _reduced_shape(input._array.shape, dim, keepdim)
            # It gets the shape of the result first; the rest of its memory stays.
            strides = np.empty(shape, array.dtype).strides
            first = array if shape == array.shape else resized(array, shape, strides)
            if first is not None:
                first[...] = identity
        return None

    return check


def _reduced_shape(shape: tuple[int, ...], dim: Any, keepdim: bool) -> tuple[int, ...]:
    dims = wrap_dims(dim, len(shape))
    if keepdim:
        return tuple(1 if place in dims else n for place, n in enumerate(shape))
    return tuple(n for place, n in enumerate(shape) if place not in dims)


def nansum_out(args: Args, kwargs: Kwargs, out: Tensor) -> Args | None:
    """`out` decides on the dtype, which must be floating point where the input is."""
    wanted = kwargs.get("dtype")
    if args and args[0].dtype.is_floating_point:
        if wanted is not None and wanted is not out.dtype:
            raise RuntimeError(
                "nansum: provided dtype must match dtype of result. Got "
                f"{out.dtype.scalar_name} and {wanted.scalar_name}." + errors.at_user_line()
            )
        if out.dtype.category < dtypes.FLOAT:
            raise errors.no_kernel("nansum_cpu", out.dtype)
    given: Args | None = starts_from(0)(args, kwargs, out)
    return given


def diff_out(args: Args, kwargs: Kwargs, out: Tensor) -> None:
    """Differences are converted; where none are taken, the dtype must be that of the input."""
    order = kwargs.get("n", args[1] if len(args) > 1 else 1)
    if order == 0:
        require_dtype([*args, *kwargs.values()][0].dtype, out, scan_words)
    same_or_apart(args, kwargs, out)


def long_words(name: str) -> Words:
    return lambda want, have: (
        f"{name}: Expected out tensor to have scalar type Long but got scalar type"
        f"{have.scalar_name}"
    )


def castable_out(args: Args, kwargs: Kwargs, out: Tensor) -> None:
    tensors = [*args, *kwargs.values()][0]
    if any(not each._array.ndim for each in tensors):
        # The function refuses what has no dimensions.
        return
    if any(not dtypes.can_cast(each.dtype, out.dtype) for each in tensors):
        raise TypeError(
            "torch.cat(): input types can't be cast to the desired output type "
            f"{out.dtype.scalar_name}" + errors.at_user_line()
        )
    if repeats_memory(out._array):
        raise errors.overlapping_write()
    # Vectors without elements are left out, so there may be nothing to write.
    if any(each._array.shape != (0,) for each in tensors):
        keep_apart(tensors, out)


# -- once there is a result ----------------------------------------------------------------------


def of_result_dtype(*words: Words) -> Accept:
    """`out` must have the dtype of the result; `words` say so, for each result its own."""

    def accept(number: int, result: Tensor, out: Tensor) -> None:
        require_dtype(result.dtype, out, words[min(number, len(words) - 1)])

    return accept


exact = of_result_dtype(expected_dtype)
same_dtype = of_result_dtype(found_dtype)
median_pair = of_result_dtype(median_words, median_index_words)
kthvalue_pair = of_result_dtype(kthvalue_words, kthvalue_index_words)
mode_pair = of_result_dtype(mode_words("values"), mode_words("indices"))
histogram_pair = of_result_dtype(histogram_words("hist"), histogram_words("bin_edges"))


def composed(accept: Accept) -> Accept:
    """Of functions made of others, which end by writing in place: no leaf may require grad."""

    def accepting(number: int, result: Tensor, out: Tensor) -> None:
        refuse_leaf(out, "out=")
        accept(number, result, out)

    return accepting


def castable(name: str, *roles: str) -> Accept:
    """The result must be convertible to the dtype of `out`; `roles` name the results."""

    def accept(number: int, result: Tensor, out: Tensor) -> None:
        if not dtypes.can_cast(result.dtype, out.dtype):
            role = roles[number] if roles else "result"
            raise RuntimeError(
                f"{name}: Expected {role} to be safely castable from {result.dtype.scalar_name} "
                f"dtype, but got {role} with dtype {out.dtype.scalar_name}" + errors.at_user_line()
            )

    return accept


def floating(number: int, result: Tensor, out: Tensor) -> None:
    """For `logsumexp`: `out` must be floating point or complex."""
    if out.dtype.category < dtypes.FLOAT:
        raise RuntimeError(
            "logsumexp(): Expected floating point type for result tensor, but got: "
            f"{out.dtype.scalar_name}" + errors.at_user_line()
        )


def bool_or_byte(name: str) -> Accept:
    """For `all` and `any`: bools, or uint8 as before there were bools."""

    def accept(number: int, result: Tensor, out: Tensor) -> None:
        if out.dtype not in (dtypes.bool_, dtypes.uint8):
            raise RuntimeError(
                f"{name} only supports bool tensor for result, got: {out.dtype.scalar_name}"
                + errors.at_user_line()
            )

    return accept


def spectrum(name: str) -> Accept:
    """For Fourier transforms: `out` is complex, or real where the result is."""

    def accept(number: int, result: Tensor, out: Tensor) -> None:
        if result.dtype.is_complex and not out.dtype.is_complex:
            kind = "complex"
        elif not result.dtype.is_complex and out.dtype.category != dtypes.FLOAT:
            kind = "floating point"
        else:
            return
        raise RuntimeError(
            f"{name} expects a {kind} output tensor, but got {out.dtype.scalar_name}"
            + errors.at_user_line()
        )

    return accept


def castable_parts(number: int, result: Tensor, out: Tensor) -> None:
    """For what joins tensors: a TypeError where the result cannot be converted."""
    if not dtypes.can_cast(result.dtype, out.dtype):
        raise TypeError(
            "torch.cat(): input types can't be cast to the desired output type "
            f"{out.dtype.scalar_name}" + errors.at_user_line()
        )
