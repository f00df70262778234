"""The merge of two lists: against a walk in Python, in order or not."""

from __future__ import annotations

import numpy as np
import pytest

from clew.kernels.compiled.merging import merge


def walk(one: list[int], two: list[int]) -> list[tuple[int, int]]:
    result, i, j = [], 0, 0
    while i < len(one) or j < len(two):
        takes_one = i < len(one) and (j == len(two) or one[i] <= two[j])
        takes_two = j < len(two) and (i == len(one) or two[j] <= one[i])
        result.append((i if takes_one else -1, j if takes_two else -1))
        i, j = i + takes_one, j + takes_two
    return result


@pytest.mark.parametrize("ordered", [True, False])
def test_against_a_walk(ordered: bool) -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        lists = [rng.integers(0, 9, rng.integers(0, 12)) for _ in range(2)]
        if ordered:
            lists = [np.sort(each) for each in lists]
        found = merge(*lists)
        expected = walk(*[each.tolist() for each in lists])
        assert list(zip(*(each.tolist() for each in found), strict=True)) == expected


def test_the_largest_integer_ends_no_list() -> None:
    last = np.iinfo(np.int64).max
    first, second = merge(np.array([last, 1]), np.array([last, last]))
    assert first.tolist() == [0, 1, -1]
    assert second.tolist() == [0, -1, 1]
