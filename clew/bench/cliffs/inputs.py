"""The inputs of the sweep for cliffs: about so many elements, in the shapes that ops take."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

DTYPES = {
    "f": "float32", "d": "float64", "b": "bfloat16", "h": "float16", "i": "int64", "c": "complex64",
}  # fmt: skip

Shape = tuple[int, ...]
# What is timed, and the tensors that it takes and whose gradients are asked for.
Call = tuple[Callable[..., Any], list[Any]]


class Inputs:
    """Makes the tensors of one case: `count` elements of one dtype, the same for every engine."""

    def __init__(self, t: Any, count: int, dtype: str) -> None:
        self.t = t
        self.count = count
        self.dtype = getattr(t, dtype)
        self.side = round(count**0.5)
        large = count >= 10**6
        self.vector: Shape = (count,)
        self.matrix: Shape = (self.side, self.side)
        self.rows: Shape = (count // 100, 100)
        self.sequence: Shape = (10, 100, 1000) if large else (1, 10, 1000)
        self.image: Shape = (10, 10, 100, 100) if large else (1, 4, 50, 50)
        self.volume: Shape = (10, 100, 10, 10, 10) if large else (1, 10, 10, 10, 10)
        self.small: Shape = (count // 16, 4, 4)
        self.batch: Shape = (max(1, count // 1024), 32, 32)
        # So many that their distances are `count` numbers.
        self.points: Shape = (self.side, 16)

    def places(self, shape: Shape) -> Any:
        """Numbers in [0, 1) in no order, as float64."""
        count = 1
        for size in shape:
            count *= size
        return ((self.t.arange(1, count + 1, dtype=self.t.float64) * 0.618034) % 1.0).reshape(shape)

    def __call__(self, shape: Shape | None = None, low: float = 0.25, high: float = 1.25) -> Any:
        """A leaf with numbers of [low, high); integers are taken from [1, 100)."""
        places = self.places(self.vector if shape is None else shape)
        if self.dtype == self.t.int64:
            return (places * 99 + 1).to(self.t.int64)
        numbers = (places * (high - low) + low).to(self.dtype)
        return numbers.requires_grad_()

    def real(self) -> Any:
        """The real or imaginary part of a complex tensor."""
        return (self.places(self.vector) + 0.25).to(self.t.float32)

    def integers(self, high: int, shape: Shape | None = None) -> Any:
        """Integers below `high`: indices, targets."""
        return (self.places(self.vector if shape is None else shape) * high).to(self.t.int64)

    def mask(self, shape: Shape | None = None) -> Any:
        return self.places(self.vector if shape is None else shape) > 0.5

    def regular(self, shape: Shape) -> Any:
        """Matrices that are far from singular."""
        numbers = self(shape, -0.5, 0.5).detach() + self.diagonal(shape)
        return numbers.requires_grad_()

    def definite(self, shape: Shape) -> Any:
        """Positive definite matrices with eigenvalues that differ."""
        numbers = self(shape, -0.5, 0.5).detach()
        product = numbers @ numbers.transpose(-1, -2) / shape[-1]
        return (product + self.diagonal(shape) / shape[-1]).requires_grad_()

    def diagonal(self, shape: Shape) -> Any:
        steps = self.t.arange(1, shape[-1] + 1, dtype=self.t.float64)
        return self.t.diag(steps).to(self.dtype)


# One row of a table: from the inputs to what is timed.
Build = Callable[[Inputs], Call]


@dataclass(frozen=True)
class Case:
    """One row at one dtype and size."""

    operation: str
    dtype: str
    exponent: int
    build: Build

    @property
    def name(self) -> str:
        return f"{self.operation}.{self.dtype}_1e{self.exponent}"

    def make(self, t: Any) -> Call:
        t.manual_seed(0)
        return self.build(Inputs(t, 10**self.exponent, self.dtype))


def named(t: Any, name: str) -> Any:
    """`t.linalg.qr`, from "linalg.qr"."""
    for part in name.split("."):
        t = getattr(t, part)
    return t


def tensors_of(results: Any) -> list[Any]:
    """The tensors among results, which may be nested in lists and tuples."""
    if isinstance(results, (list, tuple)):
        return [tensor for each in results for tensor in tensors_of(each)]
    return [results] if hasattr(results, "requires_grad") else []


def without_gradient(rows: dict[str, Build]) -> dict[str, Build]:
    """The same rows, with tensors that require no gradient."""

    def row(build: Build) -> Build:
        def detached(c: Inputs) -> Call:
            function, inputs = build(c)
            return function, [each.detach() for each in inputs]

        return detached

    return {name: row(build) for name, build in rows.items()}


def functions(names: str, build: Callable[[Inputs], Iterable[Any]]) -> dict[str, Build]:
    """Rows of functions that all take the same tensors."""

    def row(name: str) -> Build:
        return lambda c: (named(c.t, name), list(build(c)))

    return {name: row(name) for name in names.split()}


def calls(
    rows: dict[str, Callable[[Inputs], Callable[..., Any]]], *shapes: str
) -> dict[str, Build]:
    """Rows of functions that take tensors of these shapes (names of attributes of `Inputs`)."""

    def row(make: Callable[[Inputs], Callable[..., Any]]) -> Build:
        return lambda c: (make(c), [c(getattr(c, shape)) for shape in shapes])

    return {name: row(make) for name, make in rows.items()}
