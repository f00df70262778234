"""`clew.masked` against `torch.masked`: values, gradients, dtypes and errors."""

from __future__ import annotations

from typing import Any

import torch.masked  # noqa: F401  # torch does not import it itself

from tests.twice import leaf, outcome, raised, twice

X = [[1.5, -2.0, 3.0, 0.5], [4.0, 1.0, -1.0, 2.0], [0.25, 6.0, 5.0, -3.0]]
MASK = [[True, False, True, True], [False, False, True, False], [True, True, True, True]]
REDUCTIONS = ("sum", "prod", "mean", "amax", "amin", "logsumexp", "var", "std")
ALONG = ("softmax", "log_softmax", "softmin", "cumsum", "cumprod")


@twice
def test_reductions(lib: Any) -> Any:
    seen = []
    for name in REDUCTIONS:
        for dim in (None, 0, -1, (0, 1)):
            for keepdim in (False, True):
                x, mask = leaf(lib, X), lib.tensor(MASK)
                result = getattr(lib.masked, name)(x, dim, keepdim=keepdim, mask=mask)
                result.nan_to_num().sum().backward()
                # A variance of one element is NaN, and so is what it gives back.
                seen.append((name, result, x.grad.nan_to_num()))
                seen.append(getattr(lib.masked, name)(x.detach(), dim, keepdim=keepdim))
    return seen


@twice
def test_along_a_dimension(lib: Any) -> Any:
    seen = []
    for name in ALONG:
        for dim in (0, 1):
            x, mask = leaf(lib, X), lib.tensor(MASK)
            result = getattr(lib.masked, name)(x, dim, mask=mask)
            result.masked_fill(~mask, 0).sum().backward()
            seen.append((name, result, x.grad))
    return seen


@twice
def test_norms(lib: Any) -> Any:
    x, mask = lib.tensor(X), lib.tensor(MASK)
    # For negative orders but -inf, torch takes 0 for what is left out, and so gets 0.
    orders = (0, 1, 2, 3.5, float("inf"), float("-inf"))
    return [
        *[lib.masked.norm(x, order, 1, mask=mask) for order in orders],
        lib.masked.normalize(x, 2, 1, mask=mask),
        lib.masked.logaddexp(x, x + 1, input_mask=mask),
    ]


@twice
def test_positions_and_medians(lib: Any) -> Any:
    x, mask = lib.tensor(X), lib.tensor(MASK)
    whole = (x * 4).long()
    positions = [
        getattr(lib.masked, name)(x, dim, mask=mask)
        for name in ("argmax", "argmin")
        for dim in (None, 0, 1)
    ]
    return positions, lib.masked.median(x, 1, mask=mask), lib.masked.median(whole, 1, mask=mask)


@twice
def test_integers_and_bools(lib: Any) -> Any:
    mask = lib.tensor([True, False, True])
    seen = []
    for values in ([3, 5, -2], [True, True, False]):
        x = lib.tensor(values)
        seen += [lib.masked.sum(x, mask=mask), lib.masked.prod(x, 0, mask=mask)]
    x = lib.tensor([3, 5, -2])
    seen += [lib.masked.amax(x, mask=mask), lib.masked.var(x, mask=mask)]
    seen += [lib.masked.sum(x, mask=mask, dtype=lib.float64), lib.masked.amin(x, dtype=lib.float32)]
    return seen


@twice
def test_masks_broadcast_and_nothing_may_be_left(lib: Any) -> Any:
    x, none = lib.tensor(X), lib.zeros(3, 4, dtype=lib.bool)
    row = lib.tensor([True, False, True, False])
    return [
        lib.masked.sum(x, 1, mask=row),
        *[getattr(lib.masked, name)(x, 0, mask=none) for name in ("sum", "prod", "mean", "amax")],
        lib.masked.sum(lib.tensor(2.0), mask=lib.tensor(False)),
    ]


@twice
def test_refusals(lib: Any) -> Any:
    x = lib.tensor(X)
    return [
        raised(lib.masked.sum, x, (0, 0)),
        raised(lib.masked.sum, x, 5),
        raised(lib.masked.sum, x, mask=lib.ones(1, 1, 1, dtype=lib.bool)),
        raised(lib.masked.mean, lib.tensor([1, 2]), words=4),
        outcome(lambda: lib.masked.median(lib.tensor([1, 2]), mask=lib.tensor([False, False]))),
    ]


@twice
def test_dtypes_of_results(lib: Any) -> Any:
    mask = lib.tensor([True, False, True])
    seen = []
    for name in ("argmax", "argmin", "logsumexp", "median", "cumsum", "cumprod", "var", "std"):
        for dtype in (lib.uint8, lib.int32, lib.float16, lib.complex64):
            if name in ("argmax", "argmin", "median") and dtype is lib.complex64:
                continue
            x = lib.tensor([1, 2, 4]).to(dtype)
            for given in (None, mask):
                seen.append((name, getattr(lib.masked, name)(x, 0, mask=given)))
    return seen


@twice
def test_complex_variances_have_gradients(lib: Any) -> Any:
    x = lib.tensor([1 + 1j, 3 - 2j, 0.5 + 4j], requires_grad=True)
    result = lib.masked.std(x, 0, mask=lib.tensor([True, True, False]))
    result.abs().backward()
    return result, x.grad


@twice
def test_medians_leave_nan_out(lib: Any) -> Any:
    x, mask = lib.tensor([[1.0, float("nan"), 2.0]] * 2), lib.tensor([[True] * 3, [False] * 3])
    return [
        lib.masked.median(x, 1, mask=mask),
        lib.masked.median(x, 1),
        lib.vmap(lambda a, m: lib.masked.median(a, 0, mask=m))(x, mask),
    ]


@twice
def test_dtypes_without_a_value_for_what_is_left_out(lib: Any) -> Any:
    mask = lib.tensor([True, False])
    seen = []
    names = ("amax", "amin", "argmax", "argmin", "softmax", "log_softmax", "softmin", "logsumexp")
    for name in names:
        for x in (lib.tensor([True, False]), lib.tensor([1j, 2.0])):
            if name != "logsumexp" or not x.is_complex():
                seen.append(raised(getattr(lib.masked, name), x, 0, mask=mask, words=3))
    for name in ("cumsum", "cumprod", "var", "std"):
        seen.append(raised(getattr(lib.masked, name), lib.tensor([True, False]), 0, words=3))
    return seen


@twice
def test_which_elements_of_a_result_have_a_value(lib: Any) -> Any:
    x, mask = lib.tensor(X), lib.tensor([[True, False, True, True], [False] * 4, [True] * 4])
    of = lib.masked._output_mask
    return [
        of(lib.masked.sum, x, mask=mask),
        of(lib.masked.sum, x, 1, mask=mask),
        of(lib.masked.amax, x, dim=(0, 1), keepdim=True, mask=mask),
        of(lib.masked.norm, x, 2.0, 1, mask=mask),
        of(lib.masked.softmax, x, 0, mask=mask),
        lib.masked._input_mask(x, mask=lib.tensor([1, 0, 1, 0])),
        raised(of, lib.masked.sum, x, words=4),
        raised(of, lib.masked.logaddexp, x, x, input_mask=mask, words=4),
        raised(of, "sum", x, mask=mask, words=8),
    ]
