"""Every op of PyTorch's op_db that clew has, against PyTorch; `python -m tests.opdb` reports."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

import pytest
import torch

from tests.opdb import (
    FORWARD_DTYPES,
    WHATS,
    Failure,
    failures,
    full_name,
    is_missing,
    op_db,
    ops_in_scope,
    samples,
)
from tests.opdb_expected import (
    ANY_ORDER,
    DEPARTURES,
    OUT_OF_SCOPE,
    ROUNDED_AT_EACH_STEP,
    SAMPLES_LEFT_OUT,
    SUMS_OF_PRODUCTS,
    TANGENT_BY_TRANSPOSITION,
    out_of_scope,
)

Key = tuple[str, str, str]

IN_SCOPE = ops_in_scope()


@pytest.fixture(autouse=True, scope="module")
def _one_thread() -> Any:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("what", WHATS)
@pytest.mark.parametrize("op", [op for op in IN_SCOPE if not is_missing(op)], ids=full_name)
def test_op(op: Any, what: str) -> None:
    listed = {key for key in DEPARTURES if key[:2] == (full_name(op), what)}
    lines = _complaints(list(failures(op, what)), listed)
    assert not lines, "\n".join([f"{full_name(op)} {what}", *lines])


def _complaints(found: list[Failure], listed: set[Key]) -> list[str]:
    """Failures that are not listed, and listed departures that did not fail."""
    unlisted = [f"{f.dtype}: {f.message}" for f in found if f.key not in listed]
    stale = sorted(listed - {f.key for f in found})
    return unlisted + [f"{key[2]}: listed as a departure, but agrees now" for key in stale]


def test_listed_departures_excuse_and_expire() -> None:
    failure = Failure("add", "grad", "float64", "grad[0]: 1 of 2 values differ")
    assert _complaints([failure], {failure.key}) == []
    assert _complaints([failure], set()) == ["float64: grad[0]: 1 of 2 values differ"]
    assert _complaints([], {failure.key}) == ["float64: listed as a departure, but agrees now"]


def test_no_op_in_scope_is_missing() -> None:
    missing = sorted({op.name for op in IN_SCOPE if is_missing(op)})
    assert not missing, f"{len(missing)} ops of op_db are not in clew: {', '.join(missing)}"


def test_departures_are_of_known_checks_and_give_a_reason() -> None:
    known = {full_name(op) for op in IN_SCOPE}
    for (name, what, _dtype), reason in DEPARTURES.items():
        assert name in known, f"{name} is not an op in scope"
        assert what in WHATS, f"{what} is not a check"
        assert len(reason.split()) > 2, f"{name} {what}: {reason!r} explains nothing"


def test_special_treatment_is_of_ops_in_scope() -> None:
    names = {full_name(op) for op in IN_SCOPE}
    listed = {name for group in ROUNDED_AT_EACH_STEP.values() for name in group}
    listed |= {*SUMS_OF_PRODUCTS, *ANY_ORDER, *TANGENT_BY_TRANSPOSITION}
    assert not listed - names
    for pattern, what in SAMPLES_LEFT_OUT:
        assert what in (*WHATS, "gaps", "vmap", "*")
        assert any(fnmatchcase(name, pattern) for name in names), f"{pattern} is idle"


@pytest.mark.parametrize("op", IN_SCOPE, ids=full_name)
def test_every_op_has_samples(op: Any) -> None:
    """The caps on number and size of the samples leave each op something to be checked on."""
    dtype = next(d for d in FORWARD_DTYPES if d in op.supported_dtypes("cpu"))
    assert any(True for _ in samples(op, "forward", dtype, requires_grad=False))


def test_each_out_of_scope_pattern_still_matches_an_op() -> None:
    names = {full_name(op) for op in op_db}
    left_out = {name for name in names if out_of_scope(name) is not None}
    for patterns in OUT_OF_SCOPE.values():
        for pattern in patterns:
            rest = {p for group in OUT_OF_SCOPE.values() for p in group if p != pattern}
            assert any(_only_by(name, pattern, rest) for name in left_out), f"{pattern} is idle"


def _only_by(name: str, pattern: str, rest: set[str]) -> bool:
    return fnmatchcase(name, pattern) and not any(fnmatchcase(name, p) for p in rest)
