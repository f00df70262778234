"""Copying twins of the views: the same samples for all, and what each takes besides."""

from __future__ import annotations

from typing import Any

import torch

from tests.sampling import Maker, OpCase, Sample, Samples

# What follows the input, for an input of shape (3, 4).
_ARGUMENTS: dict[str, list[tuple[Any, ...]]] = {
    "alias": [()],
    "as_strided": [((2, 2), (1, 4)), ((3,), (2,), 1)],
    "detach": [()],
    "diagonal": [(), (1,), (0, 1, 0)],
    "expand": [((2, 3, 4),), ((-1, 4),)],
    "permute": [((1, 0),)],
    "select": [(0, 1), (-1, -2)],
    "slice": [(), (0, 1), (1, None, 3), (-1, 0, 4, 2)],
    "squeeze": [(), (0,), ((0, 1),)],
    "t": [()],
    "transpose": [(0, 1), (-1, 0)],
    "unfold": [(1, 2, 1), (0, 3, 2)],
    "unsqueeze": [(0,), (-1,)],
    "view": [((4, 3),), ((-1,),)],
}
_SEVERAL: dict[str, list[tuple[Any, ...]]] = {
    "split": [(2,), (3, 1)],
    "split_with_sizes": [([1, 2],), ([1, 3], 1)],
    "unbind": [(), (1,)],
}
_REFUSED: dict[str, list[tuple[Any, ...]]] = {
    "diagonal": [(0, 1, 1)],
    "expand": [((2, 2),)],
    "permute": [((0, 0),)],
    "select": [(0, 7), (2, 0)],
    "transpose": [(0, 2)],
    "unbind": [(2,)],
    "unfold": [(0, 5, 1)],
    "unsqueeze": [(4,)],
    "view": [((5, 3),)],
}


def _samples(arguments: list[tuple[Any, ...]], strided: bool) -> Samples:
    def samples(make: Maker) -> list[Sample]:
        first = [Sample(make(3, 4), *rest) for rest in arguments]
        return first + [Sample(make.strided(3, 4), *arguments[0])] if strided else first

    return samples


def _refused(arguments: list[tuple[Any, ...]]) -> Samples:
    return lambda make: [Sample(make(3, 4), *rest) for rest in arguments]


def _row(name: str, arguments: list[tuple[Any, ...]], out: bool) -> OpCase:
    return OpCase(
        f"{name}_copy",
        # A view of another shape needs contiguous memory; strides mean elements of the memory.
        _samples(arguments, strided=name not in ("view", "as_strided")),
        variants=("function",),
        out=out,
        errors=_refused(_REFUSED.get(name, [])),
    )


CASES = [
    *(_row(name, arguments, True) for name, arguments in _ARGUMENTS.items()),
    *(_row(name, arguments, False) for name, arguments in _SEVERAL.items()),
    OpCase(
        "view_as_real_copy",
        lambda make: [Sample(make(3, 4)), Sample(make())],
        variants=("function",),
        dtypes=(torch.complex64, torch.complex128, torch.float32),
    ),
]
