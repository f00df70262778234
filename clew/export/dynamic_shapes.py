"""Which sizes of inputs may change: `Dim`, and `dynamic_shapes` in the form of the arguments."""

from __future__ import annotations

import hashlib
import inspect
from dataclasses import dataclass, replace
from typing import Any

from clew import errors
from clew._dynamo.exc import UserError
from clew.core.tensor import Tensor

__all__ = ["Constraint", "Dim", "dims"]

_ENDLESS = float("inf")


class Constraint:
    """What an export requires of a size: for annotations."""


@dataclass(frozen=True)
class DimHint:
    """A size without a name: `Dim.AUTO`, `Dim.DYNAMIC`, `Dim.STATIC`, perhaps with bounds."""

    kind: str
    min: int | None = None
    max: int | None = None

    def __call__(self, min: int | None = None, max: int | None = None) -> DimHint:
        if (min is not None and min < 0) or (max is not None and max < 0):
            raise AssertionError("min and max must be non-negative" + errors.at_user_line())
        return replace(self, min=min, max=max)

    def __repr__(self) -> str:
        bounds = [f"{key}={getattr(self, key)}" for key in ("min", "max") if getattr(self, key)]
        return f"DimHint({', '.join([self.kind, *bounds])})"


class Dim:
    """The name of a size that may change, with its bounds; `2 * dim` and `dim + 1` follow it.

    Args:
        name: the name
        min, max: the bounds

    Example:
        >>> batch = clew.export.Dim("batch", max=64)
        >>> program = clew.export.export(
        ...     nn.Linear(2, 1), (clew.ones(4, 2),), dynamic_shapes={"input": {0: batch}}
        ... )
        >>> program.module()(clew.ones(7, 2)).shape
        torch.Size([7, 1])
    """

    AUTO = DimHint("AUTO")
    DYNAMIC = DimHint("DYNAMIC")
    STATIC = DimHint("STATIC")

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None) -> None:
        low = 0 if min is None else min
        high: float = _ENDLESS if max is None else max
        if high <= low:
            raise AssertionError(
                f"Cannot create Dim with inconsistent min={low}, max={high}" + errors.at_user_line()
            )
        if not name.isidentifier():
            raise AssertionError(f"Dim name must be a valid identifier, got {name}")
        self.__name__ = name
        self.min = low
        self.max = high
        self.root: Dim = self
        self.factor, self.offset = 1, 0

    def _derived(self, factor: int, offset: int) -> Dim:
        for number in (factor, offset):
            if not isinstance(number, int):
                raise NotImplementedError(
                    "Attempted to combine a Dim with a value that is no integer; only sums and "
                    "products with integers are sizes" + errors.at_user_line()
                )
        made = Dim.__new__(Dim)
        made.root, made.factor, made.offset = self.root, factor, offset
        root = self.root.__name__
        product = root if factor == 1 else f"{factor}*{root}"
        sign = "-" if offset < 0 else "+"
        made.__name__ = f"{product} {sign} {abs(offset)}" if offset else product
        made.min = factor * self.root.min + offset
        made.max = factor * self.root.max + offset
        return made

    def __add__(self, other: int) -> Dim:
        return self._derived(self.factor, self.offset + other)

    __radd__ = __add__

    def __sub__(self, other: int) -> Dim:
        return self._derived(self.factor, self.offset - other)

    def __mul__(self, other: int) -> Dim:
        if isinstance(other, int) and other <= 0:
            raise NotImplementedError(
                f"Attempted to multiply {other} with {self.__name__}, where a positive integer was "
                "expected" + errors.at_user_line()
            )
        return self._derived(self.factor * other, self.offset * other)

    __rmul__ = __mul__

    def __repr__(self) -> str:
        if self.root is not self:
            return self.__name__
        bounds = f"min={self.min}" + (f", max={self.max}" if self.max < _ENDLESS else "")
        return f"Dim('{self.__name__}', {bounds})"


def dims(*names: str, min: int | None = None, max: int | None = None) -> tuple[Dim, ...]:
    """Several sizes that may change.

    Args:
        names: their names
        min, max: the bounds of each

    Example:
        >>> clew.export.dims("batch", "length", max=8)
        (Dim('batch', min=0, max=8), Dim('length', min=0, max=8))
    """
    return tuple(Dim(name, min=min, max=max) for name in names)


@dataclass(frozen=True)
class DynamicSize:
    """One dimension of one input that may change."""

    input: int
    dim: int
    spec: Dim | DimHint


def named_args(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments by the names of forward's parameters, in the order in which they are given."""
    parameters = inspect.signature(getattr(model, "forward", model)).parameters.values()
    found: dict[str, Any] = {}
    given = list(args)
    for each in parameters:
        if each.kind is each.VAR_POSITIONAL:
            if given:
                found[each.name] = tuple(given)
                given = []
        elif each.kind is not each.KEYWORD_ONLY and given:
            found[each.name] = given.pop(0)
    return {**found, **kwargs}


def user_error(text: str) -> UserError:
    """What PyTorch raises for a wrong call of `export`."""
    return UserError(text + errors.at_user_line())


def dynamic_sizes(spec: Any, named: dict[str, Any]) -> list[DynamicSize]:
    """The sizes that `dynamic_shapes` says may change.

    Args:
        spec: `dynamic_shapes`
        named: the arguments by name
    """
    found: list[DynamicSize] = []
    if spec is None or (not spec and isinstance(spec, (dict, list, tuple))):
        return found
    if isinstance(spec, dict):
        if set(spec) != set(named):
            raise user_error(
                "When `dynamic_shapes` is specified as a dict, its top-level keys must be the arg "
                f"names {list(named)} of `inputs`, but here they are {list(spec)}. Alternatively, "
                "you could also ignore arg names entirely and specify `dynamic_shapes` as a "
                "list/tuple matching `inputs`."
            )
        spec = {name: spec[name] for name in named}
    elif isinstance(spec, (list, tuple)) and len(spec) == len(named):
        spec = dict(zip(named, spec, strict=True))
    else:
        count = len(spec) if isinstance(spec, (list, tuple)) else 0
        raise user_error(
            "Detected mismatch between the structure of `inputs` and `dynamic_shapes`: `inputs` "
            f"has {len(named)} elements, but `dynamic_shapes` has {count} elements"
        )
    _Walk(found).visit(named, spec, "inputs")
    return found


class _Walk:
    """Goes through arguments and specification side by side."""

    def __init__(self, found: list[DynamicSize]) -> None:
        self.found = found
        self.count = 0

    def visit(self, value: Any, spec: Any, place: str) -> None:
        if isinstance(value, Tensor):
            self._tensor(value, spec, place)
        elif isinstance(value, (list, tuple)):
            if spec is not None and (
                not isinstance(spec, (list, tuple)) or len(spec) != len(value)
            ):
                raise user_error(
                    "Detected mismatch between the structure of `inputs` and `dynamic_shapes`: "
                    f"`{place}` has {len(value)} elements, but `dynamic_shapes` has another form"
                )
            for number, each in enumerate(value):
                self.visit(each, None if spec is None else spec[number], f"{place}[{number}]")
        elif isinstance(value, dict):
            if spec is not None and (not isinstance(spec, dict) or set(spec) != set(value)):
                raise user_error(
                    "Detected mismatch between the structure of `inputs` and `dynamic_shapes`: "
                    f"`{place}` has keys {list(value)}, but `dynamic_shapes` has another form"
                )
            for key, each in value.items():
                self.visit(each, None if spec is None else spec[key], f"{place}[{key!r}]")

    def _tensor(self, value: Tensor, spec: Any, place: str) -> None:
        sizes = spec
        if isinstance(spec, (list, tuple)):
            if len(spec) != value.ndim:
                raise user_error(
                    f"Expected dynamic shape spec {spec} specified at `dynamic_shapes{place[6:]}` "
                    f"to have the same length as the actual tensor shape {value.shape} (expected "
                    f"{value.ndim}, but got {len(spec)} instead)"
                )
            sizes = dict(enumerate(spec))
        elif spec is not None and not isinstance(spec, dict):
            raise user_error(f"Unexpected dynamic_shape {spec} of Tensor, try None instead")
        for dim, size in (sizes or {}).items():
            if not -value.ndim <= dim < value.ndim:
                raise IndexError(
                    f"list assignment index out of range: `{place}` has {value.ndim} dimensions, "
                    f"and dynamic_shapes names {dim}" + errors.at_user_line()
                )
            if isinstance(size, int) and size != value.shape[dim]:
                raise user_error(
                    f"Static shape constraint of {size} does not match input size of "
                    f"{value.shape[dim]}, for `{place}`"
                )
            if isinstance(size, Dim) or (isinstance(size, DimHint) and size.kind != "STATIC"):
                self.found.append(DynamicSize(self.count, dim % value.ndim, size))
        self.count += 1


def symbol_of(name: str, dim: int, taken: set[str]) -> str:
    """PyTorch's symbol for a size: a number that follows from the name of the input."""
    digest = hashlib.sha256(f"L[{name!r}].size()[{dim}]".encode()).hexdigest()
    number = int(digest, 16) % 100
    while f"s{number}" in taken:
        number += 1
    taken.add(f"s{number}")
    return f"s{number}"
