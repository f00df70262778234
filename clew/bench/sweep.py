"""The sweep: 40 elementwise operations and reductions, each at sizes from 10 to 10 million.

Written once against a torch-like module `t`. A maker gives a function of no arguments, whose result
is a list of tensors; nothing in it requires grad.
"""

from collections.abc import Callable, Iterator
from typing import Any

Call = Callable[[], list[Any]]
EXPONENTS = range(1, 8)


def _numbers(t: Any, count: int, which: int) -> Any:
    """Numbers between 0.25 and 1.25 in no order: fit for log, sqrt and pow as well."""
    places = t.arange(1, count + 1, dtype=t.float64)
    return ((places * 0.618034 + 0.37 * which).fmod(1.0) + 0.25).to(t.float32)


def _mask(t: Any, count: int) -> Any:
    return _numbers(t, count, 2) > 0.75


# Each takes `t` and gives a function of so many tensors.
Maker = Callable[[Any], Callable[..., Any]]
_UNARY: dict[str, Maker] = {
    "neg": lambda t: t.neg,
    "abs": lambda t: t.abs,
    "sqrt": lambda t: t.sqrt,
    "rsqrt": lambda t: t.rsqrt,
    "reciprocal": lambda t: t.reciprocal,
    "exp": lambda t: t.exp,
    "expm1": lambda t: t.expm1,
    "log": lambda t: t.log,
    "log1p": lambda t: t.log1p,
    "sin": lambda t: t.sin,
    "cos": lambda t: t.cos,
    "tanh": lambda t: t.tanh,
    "sigmoid": lambda t: t.sigmoid,
    "erf": lambda t: t.erf,
    "relu": lambda t: t.nn.functional.relu,
    "leaky_relu": lambda t: t.nn.functional.leaky_relu,
    "gelu": lambda t: t.nn.functional.gelu,
    "silu": lambda t: t.nn.functional.silu,
    "softplus": lambda t: t.nn.functional.softplus,
    "clamp": lambda t: lambda x: x.clamp(0.5, 1.0),
    "sum": lambda t: t.sum,
    "mean": lambda t: t.mean,
    "prod": lambda t: t.prod,
    "max": lambda t: t.max,
    "argmax": lambda t: t.argmax,
    "std": lambda t: t.std,
    "norm": lambda t: t.norm,
    "logsumexp": lambda t: lambda x: t.logsumexp(x, 0),
    "cumsum": lambda t: lambda x: t.cumsum(x, 0),
}
_BINARY: dict[str, Maker] = {
    "add": lambda t: t.add,
    "sub": lambda t: t.sub,
    "mul": lambda t: t.mul,
    "div": lambda t: t.div,
    "pow": lambda t: t.pow,
    "maximum": lambda t: t.maximum,
    "lt": lambda t: t.lt,
}
_OF_MATRICES: dict[str, Maker] = {
    "sum_last": lambda t: lambda x: x.sum(-1),
    "sum_first": lambda t: lambda x: x.sum(0),
    "softmax": lambda t: lambda x: t.softmax(x, -1),
}


def _maker(op: Maker, exponent: int, inputs: int, in_matrix: bool) -> Callable[[Any], Call]:
    def make(t: Any) -> Call:
        tensors = [_numbers(t, 10**exponent, which) for which in range(inputs)]
        if in_matrix:
            rows = 10 ** (exponent // 2)
            tensors = [tensor.reshape(rows, -1) for tensor in tensors]
        function = op(t)
        return lambda: [function(*tensors)]

    return make


def _where(exponent: int) -> Callable[[Any], Call]:
    def make(t: Any) -> Call:
        count = 10**exponent
        mask, x, y = _mask(t, count), _numbers(t, count, 0), _numbers(t, count, 1)
        return lambda: [t.where(mask, x, y)]

    return make


def _rows() -> Iterator[tuple[str, Callable[[Any], Call]]]:
    for exponent in EXPONENTS:
        for table, inputs, in_matrix in ((_UNARY, 1, False), (_BINARY, 2, False),
                                         (_OF_MATRICES, 1, True)):  # fmt: skip
            for name, op in table.items():
                yield f"{name}_1e{exponent}", _maker(op, exponent, inputs, in_matrix)
        yield f"where_1e{exponent}", _where(exponent)


SWEEP: dict[str, Callable[[Any], Call]] = dict(_rows())
