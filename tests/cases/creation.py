"""Tensors like others, conversions, and random draws given by tensors."""

from __future__ import annotations

from typing import Any

import torch

from ..sampling import (
    ALL_DTYPES,
    Maker,
    OpCase,
    Sample,
    Samples,
    also,
    given,
    layouts,
)

FUNCTION, METHOD = ("function",), ("method",)


def _like(*args: Any, **kwargs: Any) -> Samples:
    """A tensor of every layout, and further arguments."""
    return lambda make: [Sample(*s.args, *args, **kwargs) for s in layouts(make)]


def _formats(make: Maker) -> list[Sample]:
    image = make(2, 3, 4, 5)
    return [
        Sample(image, memory_format=torch.channels_last),
        Sample(image.detach().permute(0, 2, 3, 1), memory_format=torch.preserve_format),
        Sample(image.detach().permute(0, 2, 3, 1), memory_format=torch.contiguous_format),
    ]


def _not_a_tensor(_make: Maker) -> list[Sample]:
    return [Sample(3)]


def _rank_three(make: Maker) -> list[Sample]:
    return [Sample(make(2, 3, 4), memory_format=torch.channels_last)]


def _weights(make: Maker) -> list[Sample]:
    return [
        Sample(make(5, low=0.1, high=2.0), 3),
        Sample(make(4, 5, low=0.1, high=2.0), 5),
        Sample(make(4, 5, low=0.1, high=2.0), 9, True),
        Sample(make(5, low=0.1, high=2.0), 1),
    ]


def _too_many(make: Maker) -> list[Sample]:
    return [Sample(make(3, low=0.1, high=1.0), 4), Sample(make(2, 2, 2, low=0.1, high=1.0), 1)]


LIKES = [
    OpCase("zeros_like", also(_like(), _like(dtype=torch.int32), _formats), variants=FUNCTION,
           errors=also(_not_a_tensor, _rank_three)),
    OpCase("ones_like", also(_like(), _like(dtype=torch.complex64), _formats), variants=FUNCTION,
           errors=also(_not_a_tensor, _rank_three)),
    OpCase("full_like", also(_like(2), _like(3.5, dtype=torch.float64)), variants=FUNCTION,
           errors=given(lambda make: Sample(3, 2))),
    OpCase("new_zeros", _like((2, 3)), variants=METHOD),
    OpCase("new_ones", _like((2, 3), dtype=torch.int16), variants=METHOD),
    OpCase("new_full", _like((2, 3), 7), variants=METHOD),
    OpCase("new_tensor", _like([[1, 2], [0, 1]]), variants=METHOD),
]  # fmt: skip

CONVERSIONS = [
    OpCase(
        "to",
        also(
            *(_like(dtype) for dtype in ALL_DTYPES),
            _like("cpu"), _like("cpu", torch.float64), _like(torch.float32, False, True),
            _like(torch.ones(1, dtype=torch.float64)), _like(copy=True), _formats,
        ),
        variants=METHOD, errors=also(_rank_three, given(lambda make: Sample(make(2), "nowhere"))),
    ),
    OpCase("type_as", _like(torch.ones(1, dtype=torch.float64)), variants=METHOD),
    OpCase("double", also(layouts, _formats), variants=METHOD),
    OpCase("float", layouts, variants=METHOD),
    OpCase("half", layouts, variants=METHOD),
    OpCase("bfloat16", layouts, variants=METHOD),
    OpCase("long", layouts, variants=METHOD),
    OpCase("bool", layouts, variants=METHOD),
    OpCase("cdouble", layouts, variants=METHOD),
]  # fmt: skip

DRAWS = [OpCase("multinomial", _weights, errors=_too_many)]

CASES = [*LIKES, *CONVERSIONS, *DRAWS]
