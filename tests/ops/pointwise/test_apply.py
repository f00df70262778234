"""`map_` and `map2_` with tensors that broadcast, and tolerances that are tensors."""

from __future__ import annotations

from typing import Any

from tests.twice import raised, twice


@twice
def test_other_tensors_broadcast(lib: Any) -> Any:
    row, two = lib.arange(3.0), lib.tensor(2.0)
    return (
        lib.zeros(2, 3).map_(row, lambda x, y: x + y),
        lib.zeros(2, 3).map2_(row, two, lambda x, y, z: x + y + z),
    )


@twice
def test_other_tensors_must_fit(lib: Any) -> Any:
    def add(*values: float) -> float:
        return sum(values)

    x = lib.zeros(2, 3)
    return (
        raised(x.map_, lib.zeros(2, 1, 3), add, words=1), raised(x.map_, lib.zeros(4), add),
        raised(x.map_, lib.arange(3), add, words=9),
        raised(x.map2_, x, lib.arange(3), add, words=9),
    )  # fmt: skip


@twice
def test_tolerances_are_numbers(lib: Any) -> Any:
    x, one = lib.ones(2), lib.tensor(1.0)
    learned = lib.tensor(1.0, requires_grad=True)
    return (
        lib.isclose(x, x, one, one), raised(lib.isclose, x, x, one, learned, words=9),
        raised(lib.allclose, x, x, learned, words=9),
        raised(lib.allclose, x, x, lib.ones(1), words=9),
    )  # fmt: skip


@twice
def test_complex_factors_do_not_fit_real_results(lib: Any) -> Any:
    x = lib.ones(2)
    return [
        raised(function, x, x, x, value=value, words=9)
        for function in (lib.addcmul, lib.addcdiv)
        for value in (1 + 2j, lib.tensor(1 + 2j))
    ] + [lib.addcmul(x, x, x, value=lib.tensor(2 + 0j)), lib.addcdiv(x, x, x, value=lib.tensor(2))]
