"""Every row of tests/cases/* against PyTorch; the row format is described in tests/sampling.py."""

from __future__ import annotations

import importlib
import operator
import pkgutil
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
import torch

import clew
from tests import cases as families
from tests import oracle
from tests.derivatives import check_grad, check_gradgrad, check_jvp
from tests.sampling import Maker, OpCase, Sample
from tests.tensors import rounded_once, short_name, tensors_in


def _all_cases() -> Iterator[OpCase]:
    for module in pkgutil.iter_modules(families.__path__):
        yield from importlib.import_module(f"{families.__name__}.{module.name}").CASES


def _is_missing(case: OpCase) -> bool:
    prefix = "" if "function" in case.variants else "Tensor."
    try:
        oracle.lookup(clew, prefix + case.name)
    except oracle.Missing:
        return True
    return False


ROWS = list(_all_cases())
CASES = [case for case in ROWS if not _is_missing(case)]
OPERATORS: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "pow": operator.pow,
    "neg": operator.neg,
    "positive": operator.pos,
    "abs": operator.abs,
    "bitwise_not": operator.invert,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
    "bitwise_left_shift": operator.lshift,
    "bitwise_right_shift": operator.rshift,
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "matmul": operator.matmul,
}
GRAD_DTYPES = (torch.float64, torch.complex128)

every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
every_case_and_dtype = pytest.mark.parametrize(
    ("case", "dtype"),
    [(case, dtype) for case in CASES for dtype in case.dtypes],
    ids=lambda value: value.id if isinstance(value, OpCase) else short_name(value),
)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


# ---------------------------------------------------------------- one call, both libraries


def _tolerance(case: OpCase, dtype: torch.dtype) -> tuple[float | None, float | None]:
    return case.tolerance.get(short_name(dtype), (None, None))


def _compare(
    ours: Callable[..., Any],
    theirs: Callable[..., Any],
    sample: Sample,
    tolerance: tuple[float | None, float | None],
) -> None:
    """Same result (or kind of exception), and inputs left as they were."""
    theirs_in = sample.args, sample.kwargs
    ours_in, before = oracle.to_clew(theirs_in), oracle.copies(theirs_in)
    results = oracle.both(ours, theirs, ours_in, theirs_in)
    if results is None:
        return
    actual, expected = results
    oracle.assert_same(actual, expected, *tolerance)
    oracle.assert_same_inputs(ours_in, theirs_in, before)


def _each(samples: Iterable[Sample], check: Callable[[Sample], None]) -> None:
    """Run a check on every sample, and report all samples that fail."""
    failed = []
    for sample in samples:
        try:
            check(sample)
        except Exception as error:  # all failures are told together, below
            kind = "" if isinstance(error, AssertionError) else f"{type(error).__name__}: "
            failed.append(f"{sample}: {kind}{oracle.first_line(error)}")
    assert not failed, f"{len(failed)} samples fail\n" + "\n".join(failed)


def _functions(case: OpCase) -> tuple[Callable[..., Any], Callable[..., Any]]:
    return case.function_of(clew), case.torch_function()


def _maker(case: OpCase, dtype: torch.dtype = torch.float64, grad: bool = False) -> Maker:
    return Maker(dtype, case.domain, grad)


def test_clew_has_every_op_of_the_table() -> None:
    missing = sorted({case.name for case in ROWS} - {case.name for case in CASES})
    assert not missing, f"{len(missing)} ops are missing: {', '.join(missing)}"


def test_rows_have_names_of_their_own() -> None:
    names = [case.id for case in ROWS]
    twice = sorted({name for name in names if names.count(name) > 1})
    assert not twice, f"several rows are called {', '.join(twice)}; give them labels"


# ---------------------------------------------------------------- values


@every_case_and_dtype
def test_forward(case: OpCase, dtype: torch.dtype) -> None:
    ours, theirs = _functions(case)
    if case.rounds_once:
        theirs = rounded_once(theirs)
    make = _maker(case, dtype)
    samples = [*case.samples(make), *case.extremes(make)]
    _each(samples, lambda s: _compare(ours, theirs, s, _tolerance(case, dtype)))


@every_case
def test_result_requires_grad_as_in_torch(case: OpCase) -> None:
    ours, theirs = _functions(case)
    samples = case.samples(_maker(case, grad=True))
    _each(samples, lambda s: _compare(ours, theirs, s, _tolerance(case, torch.float64)))


# ---------------------------------------------------------------- derivatives


@pytest.mark.parametrize("dtype", GRAD_DTYPES, ids=short_name)
@pytest.mark.parametrize("check", [check_grad, check_gradgrad], ids=["grad", "gradgrad"])
@every_case
def test_reverse_mode(case: OpCase, check: Callable[..., None], dtype: torch.dtype) -> None:
    ours, theirs = _functions(case)
    samples = case.samples(_maker(case, dtype, grad=True))
    tolerance = _tolerance(case, dtype)
    _each(samples, lambda s: check(ours, theirs, s.args, s.kwargs, tolerance))


@every_case
def test_forward_mode(case: OpCase) -> None:
    ours, theirs = _functions(case)
    samples = case.samples(_maker(case))
    tolerance = _tolerance(case, torch.float64)
    _each(samples, lambda s: check_jvp(ours, theirs, s.args, s.kwargs, tolerance))


@every_case
def test_gradient_at_kinks(case: OpCase) -> None:
    ours, theirs = _functions(case)
    samples = case.kinks(_maker(case, grad=True))
    tolerance = _tolerance(case, torch.float64)
    _each(samples, lambda s: check_grad(ours, theirs, s.args, s.kwargs, tolerance))


# ---------------------------------------------------------------- other ways to call


def _as_method(case: OpCase, samples: Iterable[Sample]) -> Iterator[Sample]:
    """The samples that have a tensor in the place of self, arguments in the method's order."""
    for sample in samples:
        args = sample.args
        if case.method_order and len(args) == len(case.method_order):
            args = tuple(args[i] for i in case.method_order)
        if isinstance(args[0], torch.Tensor):
            yield Sample(*args, **sample.kwargs)


@every_case
def test_method_equals_function(case: OpCase) -> None:
    if "method" not in case.variants:
        assert not hasattr(torch.Tensor, case.name), "torch has this method; list it in the row"
        return
    name = case.name
    samples = _as_method(case, case.samples(_maker(case)))
    ours, theirs = getattr(clew.Tensor, name), getattr(torch.Tensor, name)
    _each(samples, lambda s: _compare(ours, theirs, s, _tolerance(case, torch.float64)))


def _int_or_float(case: OpCase) -> torch.dtype:
    """float64, or int64 for the ops that torch has for integers only."""
    if torch.float64 not in case.dtypes:
        return torch.int64
    first = next(iter(case.samples(_maker(case))))
    _, error = oracle.outcome(case.torch_function(), *first.args, **first.kwargs)
    return torch.float64 if error is None else torch.int64


@pytest.mark.parametrize("case", [c for c in CASES if "operator" in c.variants], ids=lambda c: c.id)
def test_operator(case: OpCase) -> None:
    symbol = OPERATORS[case.name]
    samples = [s for s in case.samples(_maker(case, _int_or_float(case))) if not s.kwargs]
    _each(samples, lambda s: _compare(symbol, symbol, s, _tolerance(case, torch.float64)))
    swapped = [Sample(*reversed(s.args)) for s in samples if len(s.args) == 2]
    _each(swapped, lambda s: _compare(symbol, symbol, s, _tolerance(case, torch.float64)))


# ---------------------------------------------------------------- in place, out=


def _in_place(name: str, versions: list[int]) -> Callable[..., Any]:
    """x -> op_(copy of x); also notes by how much the copy's version rose."""

    def call(x: Any, *rest: Any, **kwargs: Any) -> Any:
        target = x.clone()
        before = target._version
        result = getattr(target, name)(*rest, **kwargs)
        versions.append(target._version - before)
        assert result is target, f"{name} returned another tensor"
        return result

    return call


@pytest.mark.parametrize("case", [c for c in CASES if c.inplace], ids=lambda c: c.id)
def test_in_place(case: OpCase) -> None:
    """The in-place form has torch's value, gradient and number of version bumps."""
    assert case.inplace is not None
    ours_versions: list[int] = []
    theirs_versions: list[int] = []
    ours = _in_place(case.inplace, ours_versions)
    theirs = _in_place(case.inplace, theirs_versions)
    dtype = _int_or_float(case)
    tolerance = _tolerance(case, dtype)

    def check(sample: Sample) -> None:
        ours_versions.clear()
        theirs_versions.clear()
        _compare(ours, theirs, sample, tolerance)
        check_grad(ours, theirs, sample.args, sample.kwargs, tolerance)
        assert ours_versions == theirs_versions, "the version was not bumped as in torch"

    _each(_as_method(case, case.samples(_maker(case, dtype, grad=True))), check)


def _with_out(function: Callable[..., Any], out: Any) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, out=out, **kwargs)
        ours, given = tensors_in(result), tensors_in(out)
        same = len(ours) == len(given) and all(a is b for a, b in zip(ours, given, strict=True))
        assert same, "the result is not the tensor given as out"
        return result

    return call


def _check_out(case: OpCase, sample: Sample, dtype: torch.dtype | None) -> None:
    """Result written to `out`: of the right dtype (None), or of a given one."""
    ours, theirs = _functions(case)
    result, error = oracle.outcome(theirs, *sample.args, **sample.kwargs)
    if error is not None:
        return
    blank = [torch.zeros_like(t, dtype=dtype or t.dtype) for t in tensors_in(result)]
    out = blank[0] if len(blank) == 1 else tuple(blank)
    _compare(
        _with_out(ours, oracle.to_clew(out)),
        _with_out(theirs, out),
        sample,
        _tolerance(case, torch.float64),
    )


@pytest.mark.parametrize("dtype", [None, torch.float32, torch.int64], ids=str)
@pytest.mark.parametrize("case", [c for c in CASES if c.out], ids=lambda c: c.id)
def test_out(case: OpCase, dtype: torch.dtype | None) -> None:
    make = _maker(case, _int_or_float(case))
    _each(case.samples(make), lambda s: _check_out(case, s, dtype))


@pytest.mark.parametrize("case", [c for c in CASES if c.out], ids=lambda c: c.id)
def test_out_refuses_gradients(case: OpCase) -> None:
    make = _maker(case, _int_or_float(case), grad=True)
    first = next(iter(case.samples(make)))
    with torch.no_grad():
        result = case.torch_function()(*first.args, **first.kwargs)
    blank = [torch.zeros_like(t) for t in tensors_in(result)]
    out = blank[0] if len(blank) == 1 else tuple(blank)
    ours, theirs = _functions(case)
    _compare(
        _with_out(ours, oracle.to_clew(out)),
        _with_out(theirs, out),
        first,
        _tolerance(case, torch.float64),
    )


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize("dtype", [torch.float64, torch.int64], ids=short_name)
@every_case
def test_errors(case: OpCase, dtype: torch.dtype) -> None:
    """clew refuses what torch refuses: same type, same leading words."""
    ours, theirs = _functions(case)

    def check(sample: Sample) -> None:
        ours_args, ours_kwargs = oracle.to_clew((sample.args, sample.kwargs))
        _, expected = oracle.outcome(theirs, *sample.args, **sample.kwargs)
        assert expected is not None, "torch takes this; it is no error sample"
        _, actual = oracle.outcome(ours, *ours_args, **ours_kwargs)
        oracle.assert_same_error(actual, expected, case.error_words)

    _each(case.errors(_maker(case, dtype)), check)


@pytest.mark.parametrize("value", [None, [1.0, 2.0], "x"], ids=["None", "list", "str"])
@pytest.mark.parametrize("case", [c for c in CASES if "." not in c.name], ids=lambda c: c.id)
def test_what_is_no_tensor_is_refused_as_in_torch(case: OpCase, value: Any) -> None:
    ours, theirs = _functions(case)
    first = next(iter(case.samples(_maker(case, _int_or_float(case)))))
    if not isinstance(first.args[0], torch.Tensor) or "function" not in case.variants:
        return
    _, expected = oracle.outcome(theirs, value, *first.args[1:], **first.kwargs)
    rest, kwargs = oracle.to_clew((first.args[1:], first.kwargs))
    _, actual = oracle.outcome(ours, value, *rest, **kwargs)
    if isinstance(expected, TypeError):
        oracle.assert_same_error(actual, expected)
