"""PyTorch's names for what a program calls: `F.max_pool2d(x, 2)` is `aten.max_pool2d(x, [2, 2])`.

A form is a schema of PyTorch's internal operation (`schemas.py`): which arguments it takes, in
which order, with which defaults. Functions of `nn.functional` whose arguments are in another order
have a rule. What has no form is recorded as the operations that it is made of (`recording.py`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from clew.backend import dtypes
from clew.backend.device import device
from clew.core.tensor import Tensor
from clew.export.schemas import Unfit, bound, is_int, schemas
from clew.ops.aten import packet
from clew.ops.namespaces import OpOverload

Call = tuple[OpOverload, list[Any], dict[str, Any]]


def form_of(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call | None:
    """The call of PyTorch's operation that a call of a function is; None if there is no form.

    Args:
        name: the function's name, as `torch.overrides.resolve_name` tells it
        args, kwargs: its arguments
    """
    if name.startswith("torch.nn.functional."):
        name = name.removeprefix("torch.nn.functional.")
        rule = RULES.get(name)
        if rule is not None:
            return rule(*args, **kwargs)
    elif name.startswith("torch.Tensor."):
        name = name.removeprefix("torch.Tensor.")
        if name in METHODS:
            return METHODS[name](*args, **kwargs)
        if name.startswith("__") and not name.startswith("__r"):
            name = name.strip("_")
    else:
        name = name.removeprefix("torch.")
    for schema in schemas().get(name, ()):
        try:
            values, options = bound(schema, args, kwargs)
        except Unfit:
            continue
        if any(each.name == "device" for each in schema.arguments):
            options |= {"device": options.get("device", device("cpu")), "pin_memory": False}
        return getattr(packet(schema.name), schema.overload_name), values, options
    return None


# Operations of clew whose parameters, in this order, are those of PyTorch's.
_OPERATIONS: dict[str, tuple[str, ...]] = {
    "view": ("shape",), "expand": ("shape",), "transpose": ("dim0", "dim1"), "permute": ("dims",),
    "t": (), "mm": (), "bmm": (), "addmm": (), "add": (), "sub": (), "mul": (), "div": (),
    "select": ("dim", "index"), "unsqueeze": ("dim",), "slice": ("dim", "start", "end", "step"),
}  # fmt: skip


def form_of_operation(name: str, inputs: tuple[Any, ...], params: dict[str, Any]) -> Call | None:
    """The same for an operation of clew, with its parameters."""
    names = _OPERATIONS.get(name)
    if names is None or set(names) != set(params):
        return None
    return form_of(f"torch.{name}", (*inputs, *(params[each] for each in names)), {})


# -- rules -----------------------------------------------------------------------------------------


def _call(name: str, *args: Any, **options: Any) -> Call:
    stem, _, overload = name.partition(".")
    return getattr(packet(stem), overload or "default"), list(args), options


def _many(value: Any, count: int) -> list[int]:
    return [value] * count if is_int(value) else list(value)


def _activation(name: str, *defaults: Any, writes: bool = True) -> Callable[..., Call | None]:
    """An activation with numbers as its parameters, and perhaps in place."""

    def rule(input: Tensor, *args: Any, inplace: bool = False, **named: Any) -> Call | None:
        given = list(args[: len(defaults)])
        if len(args) > len(defaults):
            inplace = args[len(defaults)]
        if inplace and not writes:
            return None
        given += [*named.values()]
        while given and given[-1] == defaults[len(given) - 1]:
            given.pop()
        return _call(name + "_" * bool(inplace), input, *given)

    return rule


def _dropout(name: str) -> Callable[..., Call]:
    def rule(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Call:
        return _call(name + "_" * bool(inplace), input, p, training)

    return rule


def _softmax(name: str) -> Callable[..., Call | None]:
    def rule(input: Tensor, dim: Any = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
        return None if dim is None else form_of(f"torch.{name}", (input, dim), {"dtype": dtype})

    return rule


def _embedding(
    input: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: Any = None,
    norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Call | None:  # fmt: skip
    if max_norm is not None or sparse:
        return None
    if padding_idx is None and not scale_grad_by_freq:
        return _call("embedding", weight, input)
    row = -1 if padding_idx is None else padding_idx % weight.shape[0]
    return _call("embedding", weight, input, row, *[True] * scale_grad_by_freq)


def _layer_norm(
    input: Tensor, normalized_shape: Iterable[int], weight: Any = None, bias: Any = None,
    eps: float = 1e-5,
) -> Call:  # fmt: skip
    return _call("layer_norm", input, list(normalized_shape), weight, bias, eps, False)


def _group_norm(
    input: Tensor, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Call:
    return _call("group_norm", input, num_groups, weight, bias, eps, False)


def _batch_norm(
    input: Tensor, running_mean: Any, running_var: Any, weight: Any = None, bias: Any = None,
    training: bool = False, momentum: float = 0.1, eps: float = 1e-5,
) -> Call:  # fmt: skip
    return _call(
        "batch_norm", input, weight, bias, running_mean, running_var, training, momentum, eps, False
    )


def _max_pool(dims: int) -> Callable[..., Call | None]:
    def rule(
        input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
        ceil_mode: bool = False, return_indices: bool = False,
    ) -> Call | None:  # fmt: skip
        if return_indices:
            return None
        stride = () if stride is None else stride
        values = [_many(each, dims) for each in (kernel_size, stride, padding, dilation)]
        args: list[Any] = [*values, ceil_mode]
        defaults: list[Any] = [None, [], [0] * dims, [1] * dims, False]
        while args[-1] == defaults[len(args) - 1]:
            args.pop()
        return _call(f"max_pool{dims}d", input, *args)

    return rule


def _loss(name: str) -> Callable[..., Call | None]:
    """A loss whose only parameter is its reduction, which has a number."""

    def rule(
        input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None,
        reduction: str = "mean", **options: Any,
    ) -> Call | None:  # fmt: skip
        if size_average is not None or reduce is not None or options:
            return None
        kinds = {"none": [0], "mean": [], "sum": [2]}
        return _call(name, input, target, *kinds[reduction]) if reduction in kinds else None

    return rule


def _cross_entropy(
    input: Tensor, target: Tensor, weight: Any = None, size_average: Any = None,
    ignore_index: int = -100, reduce: Any = None, reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Call | None:  # fmt: skip
    if size_average is not None or reduce is not None or reduction not in ("none", "mean", "sum"):
        return None
    args = [weight, {"none": 0, "mean": 1, "sum": 2}[reduction], ignore_index, label_smoothing]
    while args and args[-1] == [None, 1, -100, 0.0][len(args) - 1]:
        args.pop()
    return _call("cross_entropy_loss", input, target, *args)


def _adaptive(dims: int) -> Callable[..., Call | None]:
    def rule(input: Tensor, output_size: Any) -> Call | None:
        sizes = [output_size] * dims if is_int(output_size) else list(output_size)
        known = input.shape[-dims:]
        sizes = [n if n is not None else k for n, k in zip(sizes, known, strict=True)]
        return _call(f"adaptive_avg_pool{dims}d", input, sizes)

    return rule


def _to(self: Tensor, *args: Any, **kwargs: Any) -> Call | None:
    dtype = kwargs.get("dtype", args[0] if args else None)
    if isinstance(dtype, Tensor):
        dtype = dtype.dtype
    return _call("to.dtype", self, dtype) if isinstance(dtype, dtypes.dtype) else None


def _split(self: Tensor, split_size: Any, dim: int = 0, **named: Any) -> Call | None:
    if is_int(split_size):
        return _call("split.Tensor", self, split_size, *[dim] * (dim != 0))
    return _call("split_with_sizes", self, list(split_size), *[dim] * (dim != 0))


RULES: dict[str, Callable[..., Call | None]] = {
    "relu": _activation("relu"),
    "relu6": _activation("relu6", writes=False),
    "silu": _activation("silu", writes=False),
    "elu": _activation("elu", 1.0),
    "leaky_relu": _activation("leaky_relu", 0.01),
    "hardtanh": _activation("hardtanh", -1.0, 1.0),
    "hardswish": _activation("hardswish", writes=False),
    "hardsigmoid": _activation("hardsigmoid", writes=False),
    "logsigmoid": _activation("log_sigmoid", writes=False),
    "mish": _activation("mish", writes=False),
    "dropout": _dropout("dropout"),
    "alpha_dropout": _dropout("alpha_dropout"),
    "softmax": _softmax("softmax"),
    "log_softmax": _softmax("log_softmax"),
    "embedding": _embedding,
    "layer_norm": _layer_norm,
    "group_norm": _group_norm,
    "batch_norm": _batch_norm,
    "cross_entropy": _cross_entropy,
    "mse_loss": _loss("mse_loss"),
    "l1_loss": _loss("l1_loss"),
    "max_pool1d": _max_pool(1),
    "max_pool2d": _max_pool(2),
    "max_pool3d": _max_pool(3),
    "adaptive_avg_pool2d": _adaptive(2),
    "adaptive_avg_pool3d": _adaptive(3),
}
METHODS: dict[str, Callable[..., Call | None]] = {
    "to": _to,
    "type_as": lambda self, other: _call("to.dtype", self, other.dtype),
    "float": lambda self: _call("to.dtype", self, dtypes.float32),
    "double": lambda self: _call("to.dtype", self, dtypes.float64),
    "half": lambda self: _call("to.dtype", self, dtypes.float16),
    "long": lambda self: _call("to.dtype", self, dtypes.int64),
    "int": lambda self: _call("to.dtype", self, dtypes.int32),
    "bool": lambda self: _call("to.dtype", self, dtypes.bool_),
    "split": _split,
}

_OF_RULES = (
    "relu relu6 silu elu leaky_relu hardtanh hardswish hardsigmoid log_sigmoid mish relu_ elu_ "
    "leaky_relu_ hardtanh_ dropout dropout_ alpha_dropout alpha_dropout_ embedding layer_norm "
    "group_norm batch_norm max_pool1d max_pool2d max_pool3d adaptive_avg_pool2d "
    "adaptive_avg_pool3d cross_entropy_loss mse_loss l1_loss to split split_with_sizes"
)
# What the export itself adds: sizes, constants.
_ADDED = "sym_size lift_fresh_copy full copy_"


@functools.cache
def known_names() -> frozenset[str]:
    """The names of all operations of PyTorch's that a graph may have."""
    return frozenset([*schemas(), *_OF_RULES.split(), *_ADDED.split()])
