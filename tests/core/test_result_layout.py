"""Strides of elementwise results, where operands lie in memory in different orders."""

from __future__ import annotations

import itertools
from typing import Any

from tests.twice import twice


def _inputs(lib: Any) -> list[Any]:
    last = lib.ones(2, 3, 4, 5).to(memory_format=lib.channels_last)
    plain, sliced = lib.ones(2, 3, 4, 5), lib.ones(2, 3, 4, 10)[..., ::2]
    return [
        last, plain, sliced, lib.ones(1, 3, 1, 1), lib.ones(5), lib.ones(3, 1, 1),
        plain.permute(3, 0, 2, 1).contiguous().permute(1, 3, 2, 0),
        lib.ones(2, 3, 4, 1).expand(2, 3, 4, 5),
    ]  # fmt: skip


@twice
def test_of_two_operands(lib: Any) -> Any:
    functions = [lib.add, lib.eq, lib.atan2, lambda a, b: a * b, lambda a, b: a.int() + b]
    seen: list[Any] = []
    for a, b in itertools.product(_inputs(lib), repeat=2):
        seen += [function(a, b).stride() for function in functions]
        seen.append(lib.add(a, b, out=lib.empty(0)).stride())
        seen.append(lib.addcmul(a, b, b).stride())
    return seen


@twice
def test_of_one_operand(lib: Any) -> Any:
    functions = [lib.exp, lib.digamma, lib.neg, lambda a: a * 5, lambda a: a.half() + 1]
    return [function(a).stride() for a in _inputs(lib) for function in functions]


@twice
def test_of_permuted_matrices(lib: Any) -> Any:
    x = lib.ones(2, 3, 8)[:, :, ::2]
    seen = []
    for order in itertools.permutations(range(3)):
        turned = x.permute(order)
        row = lib.ones(turned.size(-1))
        seen += [(turned + row).stride(), (row + turned).stride(), (turned == row).stride()]
    return seen
