"""`out=` of another dtype than the result's: converted, or refused, as in PyTorch."""

from __future__ import annotations

import warnings
from typing import Any

from tests.twice import outcome, twice


def _int(lib: Any, *shape: int) -> Any:
    return lib.ones(shape, dtype=lib.int32)


@twice
def test_sums_without_nan(lib: Any) -> Any:
    x, whole = lib.ones(2), lib.ones(2, dtype=lib.int64)
    seen = []
    for name in ("nansum", "nanmean"):
        function = getattr(lib, name)
        for kind in (lib.int32, lib.bool, lib.float64):
            into = lib.ones((), dtype=kind)
            seen.append(outcome(lambda f=function, o=into: f(x, out=o), words=4))
        seen.append(outcome(lambda f=function: f(x, dtype=lib.float64, out=lib.ones(())), words=4))
        seen.append(outcome(lambda f=function: f(x, dtype=lib.int32), words=4))
    return seen, lib.nansum(whole, out=_int(lib))


@twice
def test_differences(lib: Any) -> Any:
    whole, bools = lib.ones(3, dtype=lib.int64), lib.ones(3, dtype=lib.bool)
    return [
        outcome(lambda: lib.diff(whole, n=0, out=_int(lib, 3))),
        outcome(lambda: lib.diff(bools, 0, out=_int(lib, 3))),
        lib.diff(whole, n=1, out=_int(lib, 2)),
        lib.diff(bools, out=_int(lib, 2)),
        outcome(lambda: lib.diff(lib.ones(3), out=_int(lib, 2))),
    ]


@twice
def test_inner_with_a_scalar(lib: Any) -> Any:
    ones = lib.ones(2, 2, dtype=lib.int64)
    return [
        lib.inner(lib.tensor(2), ones, out=_int(lib, 2, 2)),
        outcome(lambda: lib.inner(lib.tensor(2.0), lib.ones(2, 2), out=_int(lib, 2, 2))),
        outcome(lambda: lib.inner(ones[0], ones, out=_int(lib, 2))),
    ]


@twice
def test_lu(lib: Any) -> Any:
    x = lib.tensor([[1.0, 2.0], [4.0, 3.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        out = _int(lib, 2, 2), lib.ones(0), lib.ones(())
        return [
            lib.lu(x, True, True, out=out),
            out,
            outcome(lambda: lib.lu(x, True, True, out=out[:2])),
            outcome(lambda: lib.lu(x, True, False, out=out[0])),
        ]


@twice
def test_copies_of_views(lib: Any) -> Any:
    x, out = lib.ones(4), [_int(lib, 2), _int(lib, 2)]
    return [
        outcome(lambda: lib.split_with_sizes_copy(x, [2, 2], out=out)),
        outcome(lambda: lib.unbind_copy(x[:2], out=[_int(lib), _int(lib)])),
        outcome(lambda: lib.narrow_copy(x > 0, 0, 0, 2, out=out[0]), words=1),
    ]


@twice
def test_normal(lib: Any) -> Any:
    mean, std = lib.zeros(2), lib.ones(2)
    pairs = (mean, std), (mean, 1.0), (0.0, std)
    return [outcome(lambda p=pair: lib.normal(*p, out=_int(lib, 2))) for pair in pairs]


@twice
def test_randn_into_memory_with_gaps(lib: Any) -> Any:
    seen = []
    for view in (lambda t: t[..., 0], lambda t: t[..., 1].t()):
        lib.manual_seed(3)
        out = view(lib.zeros(5, 5, 2))
        seen.append(lib.randn(5, 5, out=out))
        seen.append(lib.rand(2))
    return seen


@twice
def test_indices_into_several_tensors(lib: Any) -> Any:
    x, out = lib.tensor([0.0, 2.0]), lib.zeros(0, dtype=lib.int64)
    return [
        lib.nonzero(x, out=out),
        outcome(lambda: lib.nonzero(x, as_tuple=True, out=(out,))),
        outcome(lambda: lib.nonzero(x, out=_int(lib, 1, 1))),
    ]
