"""What random programs do with tensors without elements, and with complex factors of zero."""

from __future__ import annotations

from typing import Any

from tests.twice import leaf, outcome, raised, twice

NAN = float("nan")


@twice
def test_products_of_bools_without_elements(lib: Any) -> Any:
    seen: list[Any] = []
    for rows, inner, columns in ((2, 2, 0), (0, 2, 2), (2, 0, 2), (2, 2, 2)):
        a, b = lib.ones(rows, inner).bool(), lib.ones(inner, columns).bool()
        c = lib.ones(rows, columns).bool()
        for beta, alpha in ((1, 1), (0.5, 2), (2, 0.5), (0, 3)):
            factors = {"beta": beta, "alpha": alpha}
            seen += [
                outcome(lambda: lib.addmm(c, a, b, **factors), words=3),  # noqa: B023  (called at once)
                outcome(lambda: lib.baddbmm(c[None], a[None], b[None], **factors), words=3),  # noqa: B023  (called at once)
                outcome(lambda: lib.addmv(lib.ones(rows).bool(), a, a[0], **factors), words=3)  # noqa: B023  (called at once)
                if rows
                else None,
            ]
    return seen


@twice
def test_a_tensor_without_elements_written_to_itself(lib: Any) -> Any:
    """A slice that leaves it as it is leaves the very tensor, which is not read and written."""
    seen = []
    for shape in ((2, 0), (0, 3), (2, 3)):
        for first in (slice(None), slice(2), slice(0, None), slice(1), slice(1, None), ...):
            for index in ([], [0, 1, 2]):
                x = lib.zeros(shape)
                key = (first, lib.tensor(index[: shape[1]], dtype=lib.int64))
                seen.append(raised(x.__setitem__, key, x, words=2))
    return seen


@twice
def test_deviations_of_nothing_have_no_sign(lib: Any) -> Any:
    empty = lib.zeros(0, 2)
    results = [empty.var(), empty.std(), empty.var(0), empty.std(0, keepdim=True), empty.var(1)]
    return [[result, lib.signbit(result)] for result in results]


@twice
def test_complex_products_of_real_numbers_have_no_gradient(lib: Any) -> Any:
    seen = []
    for values in ([-2.5, 1.0], [0.0, 2.0], [0.0, 0.0, 2.0], [NAN, 0.0, 0.0]):
        x = leaf(lib, values, "float32")
        seen += [raised(x.prod(dtype=lib.complex64).abs().backward), x.grad]
        x.prod(dtype=lib.float64).backward()
        seen.append(x.grad)
    return seen
