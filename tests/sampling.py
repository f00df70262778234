"""The row format of the op table, and the sample inputs that whole families share.

A family file `tests/cases/<family>.py` defines `CASES: list[OpCase]`; tests/ops/test_ops.py runs
every check over every row it finds. A row says what is particular to one op:

    OpCase(
        "atan2",                              # torch.atan2; dotted names: "nn.functional.gelu"
        binary,                               # samples: Callable[[Maker], Iterable[Sample]]
        variants=("function", "method"),      # also "operator", e.g. a + b
        inplace="atan2_",                     # the in-place method, or None
        out=True,                             # whether torch takes out=
        domain=(-3.0, 3.0),                   # where samples are drawn from
        kinks=pairs((0.0, 0.0), (1.0, -0.0)), # where the gradient is a convention
        errors=mismatched,                    # samples that torch refuses
    )

Fields that few rows need: `extremes` (samples for values only: infinities, NaN), `error_words`
(how many leading words of a message must agree), `rounds_once` (where torch rounds half precision
after each step and clew once: torch's result in a wider dtype, rounded, is the expected one),
`method_order` (where the method takes the function's arguments in another order: their positions),
`label` (when an op has several rows).

A sample function gets a `Maker`, which knows the dtype, the domain and whether gradients are
wanted, and returns `Sample(arguments..., keyword=...)`s of torch tensors:

    def binary(make):
        return [Sample(make(3, 4), make(4)), Sample(make.strided(3, 4), 2.0), ...]

Every row is run in all of `dtypes`: where torch refuses a dtype, clew must refuse it alike, so
rows list dtypes only to leave out senseless ones. Whether a row is differentiable, at which order,
is read off torch's result, never declared. Where a row needs a wider tolerance than the dtype's
own, `tolerance` gives it per dtype name, with the reason in a comment.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import torch

ALL_DTYPES = (
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.int64,
    torch.int32,
    torch.int16,
    torch.int8,
    torch.uint8,
    torch.bool,
    torch.complex64,
    torch.complex128,
)
FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
WIDE_FLOATS = (torch.float32, torch.float64)
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
REAL = (*FLOATS, *INTEGERS)


class Sample:
    """The arguments of one call."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.args = args
        self.kwargs = kwargs

    def __repr__(self) -> str:
        parts = [_brief(a) for a in self.args]
        parts += [f"{name}={_brief(value)}" for name, value in self.kwargs.items()]
        return f"({', '.join(parts)})"


def _brief(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        strides = "" if value.is_contiguous() else f" strides {tuple(value.stride())}"
        return f"{str(value.dtype).removeprefix('torch.')}{tuple(value.shape)}{strides}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_brief, value))}]"
    return repr(value)


class Maker:
    """Makes random torch tensors of one dtype from one domain; the same ones on every run."""

    def __init__(
        self,
        dtype: torch.dtype,
        domain: tuple[float, float] = (-3.0, 3.0),
        requires_grad: bool = False,
    ) -> None:
        self.dtype = dtype
        self.domain = domain
        self.requires_grad = requires_grad
        self._generator = torch.Generator().manual_seed(0)

    @property
    def is_inexact(self) -> bool:
        return self.dtype.is_floating_point or self.dtype.is_complex

    def __call__(
        self,
        *shape: int,
        dtype: torch.dtype | None = None,
        low: float | None = None,
        high: float | None = None,
    ) -> torch.Tensor:
        """A contiguous leaf of that shape."""
        return self._leaf(self._draw(shape, dtype or self.dtype, low, high))

    def strided(self, *shape: int, **options: Any) -> torch.Tensor:
        """A leaf whose dimensions lie in memory in reverse order, with gaps in the last one."""
        reverse = tuple(reversed(shape))
        stretched = (2 * reverse[0], *reverse[1:])
        drawn = self._draw(stretched, options.pop("dtype", None) or self.dtype, **options)
        return self._leaf(drawn[::2].permute(*reversed(range(len(shape)))))

    def expanded(self, *shape: int) -> torch.Tensor:
        """A leaf whose first dimension has stride 0."""
        return self._leaf(self._draw((1, *shape[1:]), self.dtype).expand(shape))

    def values(self, *values: Any, dtype: torch.dtype | None = None) -> torch.Tensor:
        """A leaf of exactly these values."""
        return self._leaf(torch.tensor(values, dtype=dtype or self.dtype))

    def _leaf(self, tensor: torch.Tensor) -> torch.Tensor:
        inexact = tensor.dtype.is_floating_point or tensor.dtype.is_complex
        return tensor.detach().requires_grad_(self.requires_grad and inexact)

    def _draw(
        self,
        shape: tuple[int, ...],
        dtype: torch.dtype,
        low: float | None = None,
        high: float | None = None,
    ) -> torch.Tensor:
        low = self.domain[0] if low is None else low
        high = self.domain[1] if high is None else high
        if dtype == torch.bool:
            return torch.randint(0, 2, shape, generator=self._generator).to(torch.bool)
        if not (dtype.is_floating_point or dtype.is_complex):
            floor = max(math.ceil(low), torch.iinfo(dtype).min)
            ceiling = max(math.floor(high), floor)
            drawn = torch.randint(floor, ceiling + 1, shape, generator=self._generator)
            return drawn.to(dtype)
        wide = torch.complex128 if dtype.is_complex else torch.float64
        unit = torch.rand(shape, dtype=wide, generator=self._generator)
        shift = complex(low, low) if dtype.is_complex else low
        return (unit * (high - low) + shift).to(dtype)


Samples = Callable[[Maker], Iterable[Sample]]


def none(_make: Maker) -> list[Sample]:
    """No samples."""
    return []


@dataclass(frozen=True)
class OpCase:
    """One row of the op table; see the top of this file."""

    name: str
    samples: Samples
    variants: tuple[str, ...] = ("function", "method")
    inplace: str | None = None
    out: bool = False
    dtypes: tuple[torch.dtype, ...] = ALL_DTYPES
    domain: tuple[float, float] = (-3.0, 3.0)
    kinks: Samples = none
    extremes: Samples = none
    errors: Samples = none
    error_words: int = 3
    rounds_once: bool = False
    method_order: tuple[int, ...] = ()
    label: str = ""
    tolerance: dict[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return f"{self.name}-{self.label}" if self.label else self.name

    def torch_function(self) -> Callable[..., Any]:
        """The torch function, or the Tensor method where there is no function."""
        return self.function_of(torch)

    def function_of(self, library: Any) -> Callable[..., Any]:
        """The op in torch or in clew."""
        owner = library if "function" in self.variants else library.Tensor
        for part in self.name.split("."):
            owner = getattr(owner, part)
        function: Callable[..., Any] = owner
        return function


# ---------------------------------------------------------------- elementwise samples


def layouts(make: Maker) -> list[Sample]:
    """One tensor: contiguous, 0-dim, empty, non-contiguous.

    Expanded ones are left out: PyTorch cannot make them dual, so it raises in forward mode.
    """
    return [
        Sample(make(3, 4)),
        Sample(make()),
        Sample(make(2, 0, 3)),
        Sample(make.strided(3, 4)),
        Sample(make.strided(2, 3, 4)),
    ]


def unary(make: Maker) -> list[Sample]:
    """One tensor of any layout, expanded ones too."""
    return [
        *layouts(make),
        Sample(make.expanded(3, 2)),
        Sample(make(37)),
    ]


def binary(make: Maker) -> list[Sample]:
    """Two tensors: equal shapes, broadcast both ways, 0-dim, empty, non-contiguous."""
    return [
        Sample(make(3, 4), make(3, 4)),
        Sample(make(3, 1), make(4)),
        Sample(make(4), make(2, 3, 4)),
        Sample(make(), make(2, 3)),
        Sample(make(2, 3), make()),
        Sample(make(), make()),
        Sample(make(0, 3), make(1)),
        Sample(make(2, 0), make(2, 1)),
        Sample(make.strided(3, 4), make(3, 4)),
        Sample(make.strided(3, 4), make.strided(3, 4)),
        Sample(make.expanded(3, 4), make(4)),
    ]


def binary_promoting(make: Maker) -> list[Sample]:
    """Two tensors of different dtypes; a 0-dim one is weak within its category."""
    return [
        Sample(make(2, 3), make(2, 3, dtype=torch.int32)),
        Sample(make(2, 3, dtype=torch.uint8), make(3)),
        Sample(make(2, 3), make(dtype=torch.float64)),
        Sample(make(dtype=torch.float32), make(2, 3)),
        Sample(make(2, 3), make(3, dtype=torch.bool)),
    ]


def with_scalars(*scalars: complex | bool) -> Samples:
    """A tensor and a Python number."""
    return lambda make: [Sample(make(2, 3), s) for s in scalars]


def also(*parts: Samples) -> Samples:
    """The samples of all parts."""
    return lambda make: [sample for part in parts for sample in part(make)]


def given(*rows: Callable[[Maker], Sample]) -> Samples:
    """Samples written one by one, each as a function of the maker."""
    return lambda make: [row(make) for row in rows]


binary_full = also(binary, binary_promoting, with_scalars(2, 0.5, True))
"""Tensors, mixed dtypes, and Python numbers of each kind on the right."""


# ---------------------------------------------------------------- kinks, extremes, errors


def at(*values: float) -> Samples:
    """One tensor holding exactly these values."""
    return lambda make: [Sample(make.values(*values))]


def pairs(*rows: tuple[float, float]) -> Samples:
    """Two tensors, whose elements are the given pairs."""
    return lambda make: [Sample(*(make.values(*column) for column in zip(*rows, strict=True)))]


EXTREME_VALUES = (0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 1e-30, 0.5, -2.5, 1.5, 30.0)


def extremes_unary(make: Maker) -> list[Sample]:
    """Infinities, NaN, signed zeros, halves, and numbers of extreme size."""
    return [Sample(make.values(*EXTREME_VALUES))] if make.dtype.is_floating_point else []


def extremes_binary(make: Maker) -> list[Sample]:
    """Every pair of extreme values."""
    if not make.dtype.is_floating_point:
        return []
    column = torch.tensor(EXTREME_VALUES, dtype=make.dtype)
    return [Sample(column.reshape(-1, 1).clone(), column)]


def mismatched(make: Maker) -> list[Sample]:
    """Shapes that do not broadcast."""
    return [Sample(make(2, 3), make(4)), Sample(make(2, 3), make(3, 2))]


# ---------------------------------------------------------------- reduction samples


def reductions(make: Maker) -> list[Sample]:
    """Over everything; over one dimension with and without keepdim; 0-dim; non-contiguous."""
    return [
        Sample(make(3, 4)),
        Sample(make()),
        Sample(make.strided(2, 3, 4)),
        *one_dim(make),
    ]


def one_dim(make: Maker) -> list[Sample]:
    """Along one dimension, given by position or by name."""
    return [
        Sample(make(3, 4), 0),
        Sample(make(3, 4), dim=-1, keepdim=True),
        Sample(make.strided(2, 3, 4), 1),
        Sample(make.expanded(3, 4), 0, True),
        Sample(make(), 0),
        Sample(make(), -1, keepdim=True),
        Sample(make(0, 3), 1),
        Sample(make(2, 1, 3), 1),
    ]


def many_dims(make: Maker) -> list[Sample]:
    """Along several dimensions at once."""
    return [
        Sample(make(2, 3, 4), (0, 2)),
        Sample(make.strided(2, 3, 4), dim=[1, -1], keepdim=True),
        Sample(make(2, 3, 4), (0, 1, 2)),
    ]


def scans(make: Maker) -> list[Sample]:
    """Along one dimension, keeping the shape."""
    return [
        Sample(make(5), 0),
        Sample(make(3, 4), 1),
        Sample(make.strided(2, 3, 4), dim=-2),
        Sample(make(), 0),
        Sample(make(0), 0),
        Sample(make(2, 0), 1),
        Sample(make.expanded(4, 2), 0),
    ]


def bad_dim(make: Maker) -> list[Sample]:
    """A dimension out of range."""
    return [Sample(make(2, 3), 2), Sample(make(2, 3), dim=-3), Sample(make(), 1)]


def no_overlap(samples: Samples) -> Samples:
    """The samples without those whose elements share memory (stride 0)."""
    return lambda make: [
        s
        for s in samples(make)
        if not (isinstance(s.args[0], torch.Tensor) and 0 in s.args[0].stride())
    ]


def repeated_dim(make: Maker) -> list[Sample]:
    """The same dimension twice."""
    return [Sample(make(2, 3), (0, 0)), Sample(make(2, 3), dim=(1, -1))]


def empty_reduction(make: Maker) -> list[Sample]:
    """A reduction over no elements."""
    return [Sample(make(0)), Sample(make(0, 3), 0), Sample(make(2, 0), dim=1)]
