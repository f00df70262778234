"""Schemas of PyTorch's internal operations, and calls of functions held against them."""

from __future__ import annotations

import functools
import numbers
from collections.abc import Callable
from typing import Any

from clew.backend import dtypes
from clew.backend.device import device
from clew.backend.layout import memory_format
from clew.core.tensor import Tensor
from clew.library.schema import Argument, FunctionSchema, parse

_UNARY = (
    "abs acos asin atan ceil cos cosh deg2rad detach erf erfc exp exp2 expm1 floor frac isfinite "
    "isinf isnan log log10 log1p log2 logical_not neg reciprocal relu relu6 round rsqrt sigmoid "
    "sign sin sinh sqrt square t tan tanh trunc silu mish hardswish hardsigmoid log_sigmoid det "
    "diagonal inverse alias"
)
_IN_PLACE = (
    "abs_ ceil_ cos_ exp_ floor_ log_ neg_ reciprocal_ relu_ round_ rsqrt_ sigmoid_ sin_ sqrt_ "
    "tanh_ zero_"
)
_SCALAR_OR_TENSOR = "eq ge gt le lt ne"
_OTHER = "div mul true_divide maximum minimum atan2 logical_and logical_or logical_xor mul_ div_"

# One schema in a line, as PyTorch writes them; `int[]` takes numbers one by one, too.
_SCHEMAS = """
add.Tensor(Tensor self, Any other, *, Scalar alpha=1)
add_.Tensor(Tensor self, Any other, *, Scalar alpha=1)
sub.Tensor(Tensor self, Any other, *, Scalar alpha=1)
sub_.Tensor(Tensor self, Any other, *, Scalar alpha=1)
rsub.Scalar(Tensor self, Scalar other)
pow.Tensor_Scalar(Tensor self, Scalar exponent)
pow.Tensor_Tensor(Tensor self, Tensor exponent)
floor_divide.default(Tensor self, Any other)
remainder.Tensor(Tensor self, Any other)
matmul.default(Tensor self, Tensor other)
mm.default(Tensor self, Tensor mat2)
bmm.default(Tensor self, Tensor mat2)
mv.default(Tensor self, Tensor vec)
dot.default(Tensor self, Tensor tensor)
addmm.default(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1)
baddbmm.default(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1)
clamp.default(Tensor self, Scalar? min=None, Scalar? max=None)
clamp_min.default(Tensor self, Scalar min)
clamp_max.default(Tensor self, Scalar max)
where.self(Tensor condition, Tensor self, Tensor other)
where.ScalarOther(Tensor condition, Tensor self, Scalar other)
where.ScalarSelf(Tensor condition, Scalar self, Tensor other)
masked_fill.Scalar(Tensor self, Tensor mask, Scalar value)
masked_fill.Tensor(Tensor self, Tensor mask, Tensor value)
masked_fill_.Scalar(Tensor self, Tensor mask, Scalar value)
lerp.Scalar(Tensor self, Tensor end, Scalar weight)
view.default(Tensor self, int[] size)
view.dtype(Tensor self, ScalarType dtype)
reshape.default(Tensor self, int[] shape)
expand.default(Tensor self, int[] size)
expand_as.default(Tensor self, Tensor other)
view_as.default(Tensor self, Tensor other)
repeat.default(Tensor self, int[] repeats)
permute.default(Tensor self, int[] dims)
transpose.int(Tensor self, int dim0, int dim1)
swapaxes.default(Tensor self, int axis0, int axis1)
movedim.int(Tensor self, int source, int destination)
unsqueeze.default(Tensor self, int dim)
squeeze.default(Tensor self)
squeeze.dim(Tensor self, int dim)
flatten.using_ints(Tensor self, int start_dim=0, int end_dim=-1)
unflatten.int(Tensor self, int dim, int[] sizes)
contiguous.default(Tensor self, *, MemoryFormat memory_format=contiguous_format)
copy_.default(Tensor self, Tensor src, bool non_blocking=False)
clone.default(Tensor self, *, MemoryFormat? memory_format=None)
narrow.default(Tensor self, int dim, int start, int length)
select.int(Tensor self, int dim, int index)
slice.Tensor(Tensor self, int dim=0, int? start=None, int? end=None, int step=1)
split.Tensor(Tensor self, int split_size, int dim=0)
split_with_sizes.default(Tensor self, int[] split_sizes, int dim=0)
chunk.default(Tensor self, int chunks, int dim=0)
unbind.int(Tensor self, int dim=0)
cat.default(Tensor[] tensors, int dim=0)
stack.default(Tensor[] tensors, int dim=0)
roll.default(Tensor self, int[1] shifts, int[1] dims=[])
flip.default(Tensor self, int[] dims)
tril.default(Tensor self, int diagonal=0)
triu.default(Tensor self, int diagonal=0)
gather.default(Tensor self, int dim, Tensor index)
index_select.default(Tensor self, int dim, Tensor index)
scatter_add.default(Tensor self, int dim, Tensor index, Tensor src)
repeat_interleave.self_int(Tensor self, int repeats, int? dim=None)
sum.default(Tensor self, *, ScalarType? dtype=None)
sum.dim_IntList(Tensor self, int[1] dim, bool keepdim=False, *, ScalarType? dtype=None)
mean.default(Tensor self, *, ScalarType? dtype=None)
mean.dim(Tensor self, int[1] dim, bool keepdim=False, *, ScalarType? dtype=None)
var.dim(Tensor self, int[1] dim, bool unbiased=True, bool keepdim=False)
std.dim(Tensor self, int[1] dim, bool unbiased=True, bool keepdim=False)
amax.default(Tensor self, int[1] dim=[], bool keepdim=False)
amin.default(Tensor self, int[1] dim=[], bool keepdim=False)
max.default(Tensor self)
max.dim(Tensor self, int dim, bool keepdim=False)
max.other(Tensor self, Tensor other)
min.default(Tensor self)
min.dim(Tensor self, int dim, bool keepdim=False)
min.other(Tensor self, Tensor other)
argmax.default(Tensor self, int? dim=None, bool keepdim=False)
argmin.default(Tensor self, int? dim=None, bool keepdim=False)
logsumexp.default(Tensor self, int[1] dim, bool keepdim=False)
cumsum.default(Tensor self, int dim, *, ScalarType? dtype=None)
prod.default(Tensor self, *, ScalarType? dtype=None)
prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None)
topk.default(Tensor self, int k, int dim=-1, bool largest=True, bool sorted=True)
sort.default(Tensor self, int dim=-1, bool descending=False)
argsort.default(Tensor self, int dim=-1, bool descending=False)
softmax.int(Tensor self, int dim, ScalarType? dtype=None)
log_softmax.int(Tensor self, int dim, ScalarType? dtype=None)
einsum.default(str equation, Tensor[] tensors)
outer.default(Tensor self, Tensor vec2)
meshgrid.indexing(Tensor[] tensors, *, str indexing)
arange.default(Scalar end, *, ScalarType? dtype=None, Device? device=None)
arange.start(Scalar start, Scalar end, *, ScalarType? dtype=None, Device? device=None)
arange.start_step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, Device? device=None)
linspace.default(Scalar start, Scalar end, int steps, *, ScalarType? dtype=None, Device? device=None)
zeros.default(int[] size, *, ScalarType? dtype=None, Device? device=None)
ones.default(int[] size, *, ScalarType? dtype=None, Device? device=None)
full.default(int[*] size, Scalar fill_value, *, ScalarType? dtype=None, Device? device=None)
eye.default(int n, *, ScalarType? dtype=None, Device? device=None)
rand.default(int[] size, *, ScalarType? dtype=None, Device? device=None)
randn.default(int[] size, *, ScalarType? dtype=None, Device? device=None)
zeros_like.default(Tensor self, *, ScalarType? dtype=None, Device? device=None)
ones_like.default(Tensor self, *, ScalarType? dtype=None, Device? device=None)
full_like.default(Tensor self, Scalar fill_value, *, ScalarType? dtype=None, Device? device=None)
rand_like.default(Tensor self, *, ScalarType? dtype=None, Device? device=None)
randn_like.default(Tensor self, *, ScalarType? dtype=None, Device? device=None)
new_zeros.default(Tensor self, int[] size, *, ScalarType? dtype=None, Device? device=None)
new_ones.default(Tensor self, int[] size, *, ScalarType? dtype=None, Device? device=None)
linear.default(Tensor input, Tensor weight, Tensor? bias=None)
conv1d.default(Tensor input, Tensor weight, Tensor? bias=None, int[1] stride=[1], Any padding=[0], int[1] dilation=[1], int groups=1)
conv2d.default(Tensor input, Tensor weight, Tensor? bias=None, int[2] stride=[1, 1], Any padding=[0, 0], int[2] dilation=[1, 1], int groups=1)
conv3d.default(Tensor input, Tensor weight, Tensor? bias=None, int[3] stride=[1, 1, 1], Any padding=[0, 0, 0], int[3] dilation=[1, 1, 1], int groups=1)
conv_transpose1d.default(Tensor input, Tensor weight, Tensor? bias=None, int[1] stride=[1], int[1] padding=[0], int[1] output_padding=[0], int groups=1, int[1] dilation=[1])
conv_transpose2d.input(Tensor input, Tensor weight, Tensor? bias=None, int[2] stride=[1, 1], int[2] padding=[0, 0], int[2] output_padding=[0, 0], int groups=1, int[2] dilation=[1, 1])
gelu.default(Tensor self, *, str approximate='none')
softplus.default(Tensor self, Scalar beta=1, Scalar threshold=20)
avg_pool2d.default(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=[0, 0], bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None)
adaptive_avg_pool1d.default(Tensor self, int[1] output_size)
adaptive_avg_pool2d.default(Tensor self, int[2] output_size)
adaptive_avg_pool3d.default(Tensor self, int[3] output_size)
pad.default(Tensor self, int[] pad, str mode='constant', float? value=None)
pixel_shuffle.default(Tensor self, int upscale_factor)
one_hot.default(Tensor self, int num_classes=-1)
scaled_dot_product_attention.default(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0.0, bool is_causal=False, *, float? scale=None, bool enable_gqa=False)
lstm.input(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first)
gru.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first)
rnn_tanh.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first)
rnn_relu.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first)
"""  # noqa: E501  # as PyTorch writes them


@functools.cache
def schemas() -> dict[str, list[FunctionSchema]]:
    lines = [line for line in _SCHEMAS.splitlines() if line]
    lines += [f"{name}.default(Tensor self)" for name in f"{_UNARY} {_IN_PLACE}".split()]
    lines += [f"{name}.Tensor(Tensor self, Any other)" for name in _OTHER.split()]
    for name in _SCALAR_OR_TENSOR.split():
        lines += [f"{name}.Scalar(Tensor self, Scalar other)"]
        lines += [f"{name}.Tensor(Tensor self, Tensor other)"]
    found: dict[str, list[FunctionSchema]] = {}
    for line in lines:
        schema = parse(line + " -> Tensor")
        found.setdefault(schema.name, []).append(schema)
    return found


# -- binding ---------------------------------------------------------------------------------------


class Unfit(Exception):
    """Arguments are none of a schema's."""


def is_int(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, (bool, int, float, complex))


_CHECKS: dict[str, Callable[[Any], bool]] = {
    "Tensor": lambda value: isinstance(value, Tensor),
    "int": is_int,
    "bool": lambda value: isinstance(value, bool),
    "str": lambda value: isinstance(value, str),
    "float": _is_number,
    "Scalar": _is_number,
    "ScalarType": lambda value: isinstance(value, dtypes.dtype),
    "MemoryFormat": lambda value: isinstance(value, memory_format),
    "Any": lambda value: isinstance(value, Tensor) or _is_number(value) or _is_sizes(value),
}


def _is_sizes(value: Any) -> bool:
    return isinstance(value, str) or (
        isinstance(value, (list, tuple)) and all(is_int(each) for each in value)
    )


def _converted(kind: str, value: Any) -> Any:
    if kind.endswith("?"):
        return None if value is None else _converted(kind[:-1], value)
    if kind == "Tensor[]":
        if isinstance(value, (list, tuple)) and all(isinstance(each, Tensor) for each in value):
            return list(value)
    elif kind.endswith("]"):
        if is_int(value):
            count = kind[4:-1]
            return [value] * int(count) if count.isdigit() else [value]
        if isinstance(value, (list, tuple)) and all(is_int(each) for each in value):
            return list(value)
    elif kind == "Any" and isinstance(value, tuple) and _is_sizes(value):
        return list(value)
    elif kind == "Device":
        return device(value)
    elif _CHECKS[kind](value):
        return value
    raise Unfit


def _positional(schema: FunctionSchema, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments by position, with numbers that were given one by one as a list."""
    places = [each for each in schema.arguments if not each.kwarg_only]
    for place, each in enumerate(places):
        if each.type == "int[]" and place < len(args) and is_int(args[place]):
            rest = args[place:]
            if len(rest) > 1 and place == len(places) - 1 and all(map(is_int, rest)):
                return (*args[:place], list(rest))
    if len(args) > len(places):
        raise Unfit
    return args


_ALIASES = {"input": "self", "axis": "dim", "size": "sizes", "keepdims": "keepdim"}
# Options that say nothing about a graph on the CPU.
_UNSAID: dict[str, Any] = {
    "device": (None,), "layout": None, "pin_memory": (False, None), "out": (None,),
    "requires_grad": (False,), "inplace": (False,), "non_blocking": (False, True),
}  # fmt: skip


def bound(schema: FunctionSchema, args: Any, kwargs: dict[str, Any]) -> tuple[list[Any], Any]:
    given = list(_positional(schema, args))
    by_name = {each.name: each for each in schema.arguments}
    named: dict[str, Any] = {}
    for key, value in kwargs.items():
        name = key if key in by_name else _ALIASES.get(key, key)
        if name in by_name:
            named[name] = value
        elif key not in _UNSAID or value not in (_UNSAID[key] or (value,)):
            raise Unfit
    values: list[Any] = []
    options: dict[str, Any] = {}
    for place, each in enumerate(schema.arguments):
        if not each.kwarg_only and place < len(given):
            value = _converted(each.type, given[place])
        elif each.name in named:
            value = _converted(each.type, named.pop(each.name))
        elif each.has_default:
            value = each.default_value
        else:
            raise Unfit
        if not each.kwarg_only:
            values.append(value)
        elif not _is_default(each, value):
            options[each.name] = value
    if len(given) + len(named) > len(schema.arguments):
        raise Unfit
    positional = [each for each in schema.arguments if not each.kwarg_only]
    while values and _is_default(positional[len(values) - 1], values[-1]):
        values.pop()
    return values, options


def _is_default(argument: Argument, value: Any) -> bool:
    if not argument.has_default:
        return False
    default = argument.default_value
    if isinstance(value, memory_format):
        return str(value) == f"torch.{default}"
    return (
        type(value) is not Tensor
        and bool(value == default)
        and (isinstance(value, bool) == isinstance(default, bool))
    )
