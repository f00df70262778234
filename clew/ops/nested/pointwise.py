"""Functions of single elements: they run on the values, and keep how these are cut."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clew import errors
from clew.core.inplace import check_leaf
from clew.core.state import local
from clew.core.tensor import Tensor
from clew.ops.nested.cuts import Jagged
from clew.ops.nested.padding import repeated
from clew.ops.nested.tensor import (
    JAGGED,
    STRIDED,
    NestedTensor,
    PiecewiseTensor,
    both,
    contiguous_only,
    first_nested,
    is_nested,
    nested,
    values_of,
)

# -- the jagged layout -----------------------------------------------------------------------------

_UNARY = (
    "abs", "absolute", "acos", "acosh", "adjoint", "angle", "arccos", "arccosh", "arcsin",
    "arcsinh", "arctan", "arctanh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh",
    "deg2rad", "digamma", "erf", "erfc", "erfinv", "exp", "exp2", "expm1", "fix", "floor", "frac",
    "i0", "isfinite", "isinf", "isnan", "isneginf", "isposinf", "isreal", "lgamma", "log",
    "log10", "log1p", "log2", "logical_not", "logit", "mvlgamma", "nan_to_num", "neg", "negative",
    "polygamma", "rad2deg", "reciprocal", "relu", "round", "rsqrt", "sgn", "sigmoid", "sign",
    "signbit", "sin", "sinc", "sinh", "sqrt", "square", "tan", "tanh", "trunc", "bitwise_not",
    "__neg__", "__abs__", "__invert__", "hardshrink", "celu", "elu",
    "gelu", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu",
    "logsigmoid", "mish", "relu6", "selu", "silu", "softplus", "softshrink", "softsign",
    "tanhshrink", "threshold", "rrelu", "erfcx", "expit", "gammaln", "psi", "entr", "i0e", "i1",
    "i1e", "log_ndtr", "ndtr", "ndtri", "bessel_j0", "bessel_j1", "real", "imag",
)  # fmt: skip
_BINARY = (
    "add", "arctan2", "atan2", "bitwise_and", "bitwise_or", "bitwise_xor", "clamp", "clamp_max",
    "clamp_min", "clip", "copysign", "div", "divide", "eq", "float_power", "fmax", "fmin", "fmod",
    "ge", "greater", "greater_equal", "gt", "heaviside", "hypot", "igamma", "igammac", "isclose",
    "ldexp", "le", "lerp", "less", "less_equal", "logaddexp", "logaddexp2", "logical_and",
    "logical_or", "logical_xor", "lt", "maximum", "minimum", "mul", "multiply", "ne", "nextafter",
    "not_equal", "pow", "remainder", "sub", "subtract", "true_divide", "xlogy", "masked_fill",
    "where", "gcd", "lcm", "bitwise_left_shift", "bitwise_right_shift", "rsub", "xlog1py", "zeta",
    "__add__", "__radd__", "__sub__", "__rsub__", "__mul__", "__rmul__", "__truediv__",
    "__rtruediv__", "__mod__", "__rmod__", "__pow__", "__rpow__", "__eq__", "__ne__", "__lt__",
    "__le__", "__gt__", "__ge__", "__and__", "__or__", "__xor__", "__rand__", "__ror__",
    "__rxor__", "__lshift__", "__rshift__",
)  # fmt: skip
_IN_PLACE = (
    "acos", "acosh", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "asin",
    "asinh", "atan", "atanh", "ceil", "conj_physical", "cos", "cosh", "deg2rad", "digamma", "erf",
    "erfc", "erfinv", "exp", "exp2", "expm1", "fix", "floor", "frac", "i0", "lgamma", "log",
    "log10", "log1p", "log2", "logical_not", "logit", "mvlgamma", "nan_to_num", "neg", "negative",
    "polygamma", "rad2deg", "reciprocal", "relu", "round", "rsqrt", "sgn", "sigmoid", "sign",
    "sin", "sinc", "sinh", "sqrt", "square", "tan", "tanh", "trunc", "celu", "elu", "hardtanh",
    "leaky_relu", "selu", "add", "arctan2", "atan2", "clamp", "clamp_max", "clamp_min", "clip",
    "copysign", "div", "divide", "eq", "float_power", "fmod", "ge", "greater", "greater_equal",
    "gt", "hypot", "igamma", "igammac", "ldexp", "le", "less", "less_equal", "lerp",
    "logical_and", "logical_or", "logical_xor", "lt", "mul", "multiply", "ne", "nextafter", "pow",
    "remainder", "sub", "subtract", "true_divide", "xlogy", "masked_fill", "zero", "fill",
)  # fmt: skip
# Conversions: without a change they return what they were given.
_CASTS = (
    "to", "float", "double", "half", "bfloat16", "int", "long", "short", "char", "byte", "bool",
    "cfloat", "cdouble", "chalf", "cpu", "type_as", "conj", "conj_physical", "positive",
    "resolve_conj", "resolve_neg", "__pos__",
)  # fmt: skip
_CONVERSIONS = (
    "zeros_like", "ones_like", "empty_like", "full_like", "rand_like", "randn_like",
    "randint_like", "fill",
)  # fmt: skip


def _run(
    plain: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], name: str
) -> Any:
    """A function of values, each aligned with those of the first nested tensor."""
    inplace = kwargs.pop("inplace", False)
    given = (*args, *kwargs.values())
    first = first_nested(given)
    values = values_of(first)
    aligned = {id(first): values}
    for other in given:
        if isinstance(other, Tensor) and other is not first:
            aligned[id(other)] = _aligned(name, first, other, args)
    result = plain(
        *[aligned.get(id(each), each) for each in args],
        **{key: aligned.get(id(each), each) for key, each in kwargs.items()},
    )
    if inplace:
        return write(first, result, f"{name}_")
    return nested(result, first._cuts)


def _converted(plain: Callable[..., Any], self: Any, *args: Any, **kwargs: Any) -> Any:
    """A conversion; without a change it gives what it was given."""
    values = values_of(self)
    given = [each._parts[0] if is_nested(each) else each for each in args]
    result = plain(values, *given, **kwargs)
    return self if result is values else nested(result, self._cuts)


def _aligned(name: str, first: Any, other: Tensor, args: tuple[Any, ...]) -> Tensor:
    """Another operand, in a shape that broadcasts with the values of the first."""
    if is_nested(other):
        if not raggedness_matches(first, other.shape if _is_jagged(other) else ()):
            raise _mismatch(name, args)
        return values_of(other)
    cuts: Jagged = first._cuts
    ndim, have = first._layout.ndim, other._layout.ndim
    if have > ndim:
        raise NotImplementedError(
            "NYI: broadcasting NT with T with larger dim\n  A nested tensor of "
            f"{ndim} dimensions takes operands of no more." + errors.at_user_line()
        )
    squeezed = other
    while squeezed._layout.ndim and squeezed._layout.shape[0] == 1:
        squeezed = squeezed.squeeze(0)
    if ndim >= squeezed._layout.ndim + 2:
        return squeezed
    if ndim != have or other._layout.shape[0] != cuts.count:
        raise _mismatch(name, args)
    return repeated(other, cuts, int(first._parts[0]._layout.shape[cuts.ragged - 1]))


def _is_jagged(tensor: Any) -> bool:
    return type(tensor) is NestedTensor


def raggedness_matches(tensor: Any, size: Any) -> bool:
    """Whether sizes begin as those of a nested tensor do, up to the ragged one; -1 is any."""
    end = tensor._cuts.ragged + 1
    own = tuple(tensor.shape)[:end]
    others = tuple(size)[:end]
    return len(own) == len(others) and all(
        (type(b) is int and b == -1) or a == b for a, b in zip(own, others, strict=True)
    )


def _mismatch(name: str, args: tuple[Any, ...]) -> RuntimeError:
    operands = [each for each in args if isinstance(each, Tensor)]
    shapes: list[Any] = [each.shape for each in operands]
    if all(map(is_nested, operands)):
        shapes = [tuple(shape) for shape in shapes]
    return RuntimeError(
        f"cannot call binary pointwise function {name.strip('_')}.Tensor with inputs of shapes "
        f"{' and '.join(map(str, shapes))}\n  Ragged lengths are equal where nested tensors are "
        "made with the same offsets." + errors.at_user_line()
    )


def write(self: Any, result: Tensor, writer: str) -> Any:
    """Let a nested tensor have the values and the history of a result; in place."""
    if local.state.grad_enabled and self.requires_grad:
        check_leaf(self, writer)
    values = values_of(result) if is_nested(result) else result
    before, local.state.grad_enabled = local.state.grad_enabled, False
    try:
        self._parts[0].copy_(values)
    finally:
        local.state.grad_enabled = before
    self._storage.bump(writer, None)
    if values.requires_grad:
        tracked = nested(values, self._cuts)
        self._node, self._output_nr = tracked._node, tracked._output_nr
        self._requires_grad = True
    return self


def _elementwise(name: str) -> Callable[..., Any]:
    def rule(plain: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return _run(plain, args, kwargs, name)

    return rule


def _in_place(name: str, run: Callable[..., Any]) -> Callable[..., Any]:
    def rule(plain: Callable[..., Any], self: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_nested(self):
            raise RuntimeError(
                f"{name} writes a nested tensor into a strided one" + errors.at_user_line()
            )
        if local.state.grad_enabled and self.requires_grad:
            check_leaf(self, name)
        result = run(lambda values, *rest, **named: plain(values.clone(), *rest, **named),
                     (self, *args), kwargs, name)  # fmt: skip
        return write(self, result, name)

    return rule


JAGGED.update({name: _elementwise(name) for name in (*_UNARY, *_BINARY)})
JAGGED.update(dict.fromkeys((*_CASTS, *_CONVERSIONS), _converted))
JAGGED.update({f"{name}_": _in_place(f"{name}_", _run) for name in _IN_PLACE})
JAGGED.update({
    f"__i{name}__": _in_place(f"{method}_", _run)
    for name, method in {
        "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "pow": "pow",
        "mod": "remainder",
    }.items()
})  # fmt: skip


# -- the strided layout ----------------------------------------------------------------------------

_STRIDED = (
    "abs", "absolute", "adjoint", "cos", "isinf", "isnan", "isneginf", "isposinf", "isreal",
    "logical_not", "neg", "negative", "relu", "sgn", "sin", "sqrt", "tanh", "gelu", "silu",
    "softsign", "tanhshrink", "__neg__",
    "__abs__", "clone", "zeros_like", "ones_like", "empty_like", "eq", "ge", "greater",
    "greater_equal", "gt", "__eq__", "__ge__", "__gt__",
)  # fmt: skip
_STRIDED_BINARY = (
    "add", "sub", "mul", "div", "divide", "multiply", "subtract", "true_divide", "masked_fill",
    "__add__", "__radd__", "__sub__", "__rsub__", "__mul__", "__rmul__", "__truediv__",
    "__rtruediv__",
)  # fmt: skip
_STRIDED_IN_PLACE = (
    "abs", "absolute", "logical_not", "neg", "negative", "relu", "tanh", "add", "mul", "multiply",
    "zero", "fill", "normal",
)  # fmt: skip
_COMPARISONS = {"eq", "ge", "greater", "greater_equal", "gt", "__eq__", "__ge__", "__gt__"}


def _run_strided(
    plain: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], name: str
) -> Any:
    """The same where both operands must be nested, or one of them a number."""
    inplace = kwargs.pop("inplace", False)
    first = first_nested(args)
    values = values_of(first)
    place = next(number for number, each in enumerate(args) if each is first)
    given = [
        values if number == place
        else _in_pieces(name.strip("_"), first, each, args) if isinstance(each, Tensor)
        else each
        for number, each in enumerate(args)
    ]  # fmt: skip
    result = plain(*given, **kwargs)
    if inplace:
        return write(first, result, f"{name}_")
    return nested(result, first._cuts)


def _in_pieces(name: str, first: Any, other: Any, args: tuple[Any, ...]) -> Tensor:
    if not other._layout.ndim:
        return other
    if not is_nested(other):
        words = ["nested" if is_nested(each) else "non-nested" for each in args[:2]]
        raise RuntimeError(
            f"Expected both self and other to be nested, but got a {words[0]} self and "
            f"{words[1]} other\n  Nested tensors of layout=torch.jagged broadcast."
            + errors.at_user_line()
        )
    if name in {each.strip("_") for each in _COMPARISONS}:
        raise RuntimeError(
            f"{name} does not support nested tensor as other value." + errors.at_user_line()
        )
    if type(other) is not PiecewiseTensor or other._cuts.shapes != first._cuts.shapes:
        raise RuntimeError(
            f"{name} does not support broadcasting when given a NestedTensor"
            + errors.at_user_line()
        )
    return values_of(other)


def _strided_rule(name: str) -> Callable[..., Any]:
    def rule(plain: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return _run_strided(plain, args, kwargs, name)

    return rule


STRIDED.update({name: _strided_rule(name) for name in (*_STRIDED, *_STRIDED_BINARY)})
STRIDED.update(dict.fromkeys(_CASTS, _converted))
STRIDED.update({f"{name}_": _in_place(f"{name}_", _run_strided) for name in _STRIDED_IN_PLACE})
STRIDED.update({
    "__iadd__": _in_place("add_", _run_strided), "__imul__": _in_place("mul_", _run_strided),
})  # fmt: skip


_DROPOUT = "native_dropout_default(self: jt, float: any, train: any?)"


@both("dropout")
def dropout(
    plain: Callable[..., Any], input: Any, p: float = 0.5, *args: Any, **kwargs: Any
) -> Any:
    """Dropout; where nothing is dropped, random numbers are drawn all the same."""
    contiguous_only(input, _DROPOUT, "self")
    training = args[0] if args else kwargs.get("training", kwargs.get("train", True))
    if training and p == 0:
        values = input._parts[0]
        values.new_empty(values.shape).bernoulli_(1.0)
    run = _run if type(input) is NestedTensor else _run_strided
    return run(plain, (input, p, *args), kwargs, "dropout")


@both("alpha_dropout", "feature_alpha_dropout")
def alpha_dropout(plain: Callable[..., Any], input: Any, *args: Any, **kwargs: Any) -> Any:
    """Dropout that keeps mean and variance."""
    run = _run if type(input) is NestedTensor else _run_strided
    return run(plain, (input, *args), kwargs, "alpha_dropout")


@both("copy_")
def copy_(plain: Callable[..., Any], self: Any, src: Any, non_blocking: bool = False) -> Any:
    """Take over the elements of a nested tensor of the same structure."""
    if not is_nested(self) or type(self) is not type(src):
        raise RuntimeError(
            "copy_ only supports Nested tensors, of one layout, as destination and source"
            + errors.at_user_line()
        )
    if type(self) is NestedTensor:
        fits = self._cuts.sizes.tolist() == src._cuts.sizes.tolist()
        if not fits:
            raise RuntimeError(
                "copy_(): expected compatible input and src shapes, but got: "
                f"{self.shape} and {src.shape}" + errors.at_user_line()
            )
    elif self._cuts.shapes != src._cuts.shapes:
        raise RuntimeError(
            "copy_ only supports tensors that are the same size for Nested implementations"
            + errors.at_user_line()
        )
    return write(self, values_of(src).to(self.dtype), "copy_")
