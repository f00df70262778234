"""Every entry of PyTorch's op_db on clew, in every way that the entry says it can be called.

python -m tests.opdb_wide                       all entries; takes hours
python -m tests.opdb_wide --op 'fft.*'          one entry (all its variants), or a pattern
python -m tests.opdb_wide --what forward,out    only these checks
python -m tests.opdb_wide --dtype float16       only this dtype
python -m tests.opdb_wide --samples 20          at most so many samples per check
python -m tests.opdb_wide --shard 0/2           every second entry

`python -m tests.opdb` is the quick form, of which tests/ops/test_opdb.py runs everything.
"""

from __future__ import annotations

import argparse
import itertools
import operator
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch

import clew

from . import oracle
from .derivatives import check_grad, check_gradgrad, check_jvp
from .opdb import (
    UNINITIALISED,
    CheckFailed,
    Failure,
    _forward,
    _naming,
    _representable,
    _selected,
    _spread,
    _variants,
    assert_refused,
    comparable,
    full_name,
    op_db,
)
from .opdb_exact import exactly, is_as_exact
from .opdb_expected import (
    DEPARTURES,
    OUTS_LEFT_OUT,
    TANGENT_BY_TRANSPOSITION,
    WIDE_DEPARTURES,
    left_out,
    out_of_scope,
)
from .tensors import fresh_leaves, short_name, tensors_in

DTYPES = (
    torch.float64,
    torch.float32,
    torch.float16,
    torch.bfloat16,
    torch.complex64,
    torch.complex128,
    torch.bool,
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
)
"""The dtypes of op_db; of complex32, PyTorch has few operations."""

DERIVATIVES = {"grad": check_grad, "gradgrad": check_gradgrad, "jvp": check_jvp}
LIMITS = {"samples": 1000, "seconds": 10.0}


def _samples(
    op: Any, what: str, dtype: torch.dtype, requires_grad: bool = False, reference: bool = False
) -> Iterator[Any]:
    oracle.seed_torch()
    find = op.reference_inputs_func if reference else op.sample_inputs_func
    if find is None:
        return
    start = time.perf_counter()
    found = find(op, "cpu", dtype, requires_grad)
    wanted = (s for s in found if not left_out(full_name(op), what, s))
    for sample in _spread(wanted, LIMITS["samples"]):
        if time.perf_counter() - start > LIMITS["seconds"]:
            return
        if all(map(_representable, tensors_in((sample.input, sample.args, sample.kwargs)))):
            yield sample


def _check_forward(op: Any, dtype: torch.dtype) -> None:
    ours = oracle.counterpart(op.op)
    for sample in _samples(op, "forward", dtype):
        _naming(sample, _same_result, op.op, ours, sample, op.name)
    if dtype.is_floating_point or dtype.is_complex:
        for sample in _samples(op, "forward", dtype, requires_grad=op.supports_autograd):
            _naming(sample, _same_result, op.op, ours, sample, op.name, label="requires grad")


def _same_result(theirs: Any, ours: Any, sample: Any, name: str) -> None:
    """As torch's, or as near to the exact result."""
    try:
        _forward(theirs, ours, sample, name)
    except AssertionError as error:
        if "values differ" not in str(error):
            raise
        try:
            _forward(exactly(theirs, name), ours, sample, name)
        except AssertionError:
            if not is_as_exact(theirs, ours, sample, name):
                raise error from None


def _check_reference(op: Any, dtype: torch.dtype) -> None:
    ours = oracle.counterpart(op.op)
    for sample in _samples(op, "forward", dtype, reference=True):
        _naming(sample, _same_result, op.op, ours, sample, op.name)


def _check_noncontiguous(op: Any, dtype: torch.dtype) -> None:
    ours = oracle.counterpart(op.op)
    for sample in _samples(op, "gaps", dtype):
        _naming(sample, _same_result, op.op, ours, sample.noncontiguous(), op.name)


def _check_variants(op: Any, dtype: torch.dtype) -> None:
    for label, form in _variants(op).items():
        is_operator = form in vars(operator).values()
        ours = form if is_operator else oracle.counterpart(form)
        for sample in _samples(op, "variants", dtype):
            if isinstance(sample.input, torch.Tensor) or label.startswith("alias"):
                _naming(sample, _same_result, form, ours, sample, op.name, label=label)


def _check_out(op: Any, dtype: torch.dtype) -> None:
    """Given `out` of the right shape, of none, with gaps, of a wrong shape and of another dtype."""
    ours = oracle.counterpart(op.op)
    for sample in itertools.islice(_samples(op, "out", dtype), 4):
        if "out" in sample.kwargs:
            continue
        oracle.seed_torch()
        expected, error = oracle.outcome(op.op, sample.input, *sample.args, **sample.kwargs)
        if error is not None or not _is_flat(expected):
            continue
        for label, change in _OUTS.items():
            if (full_name(op), label) in OUTS_LEFT_OUT:
                continue
            _naming(sample, _with_out, op, ours, sample, expected, change, label=f"out {label}")


def _is_flat(result: Any) -> bool:
    parts = result if isinstance(result, (list, tuple)) else [result]
    return all(isinstance(part, torch.Tensor) for part in parts)


def _gaps(t: torch.Tensor) -> torch.Tensor:
    return torch.empty((*t.shape, 2), dtype=t.dtype).fill_(1)[..., 0]


_OUTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "of the shape": lambda t: torch.ones(t.shape, dtype=t.dtype),
    "of no elements": lambda t: torch.ones(0, dtype=t.dtype),
    "with gaps": _gaps,
    "of another shape": lambda t: torch.ones((*t.shape, 2), dtype=t.dtype),
    "of int32": lambda t: torch.ones(t.shape, dtype=torch.int32),
}


def _with_out(op: Any, ours: Any, sample: Any, expected: Any, change: Any) -> None:
    if isinstance(expected, torch.Tensor):
        out: Any = change(expected)
    else:
        out = type(expected)([change(t) for t in expected])
    kwargs = {**sample.kwargs, "out": out}
    theirs_in = ((sample.input, *sample.args), kwargs)
    ours_in = oracle.to_clew(theirs_in)
    results = oracle.both(ours, op.op, ours_in, theirs_in)
    if results is None:
        return
    if op.name not in UNINITIALISED:
        if results[1] is None:
            assert results[0] is None, "the result is not None"
            results = ours_in[1]["out"], out
        both = (*results, ours_in[1]["out"], out)
        shown = [comparable(op.name, result, sample) for result in both]
        for mine, other, where in ((*shown[:2], "result"), (*shown[2:], "out")):
            _assert_equal(op.name, mine, other, (theirs_in[0], sample.kwargs), where)
        pairs = zip(tensors_in(results[0]), tensors_in(ours_in[1]["out"]), strict=True)
        if all(a is b for a, b in zip(tensors_in(results[1]), tensors_in(out), strict=True)):
            assert all(a is b for a, b in pairs), "the result is not the tensor given as out"


def _assert_equal(name: str, actual: Any, expected: Any, given: Any, where: str = "result") -> None:
    """As torch's, or as the exact result."""
    try:
        oracle.assert_same(actual, expected, grad_flag=False, where=where)
    except AssertionError:
        exact = exactly(lambda *args, **kwargs: expected, name)(*given[0], **given[1])
        oracle.assert_same(actual, exact, grad_flag=False, where=where)


def _check_derivative(what: str, op: Any, dtype: torch.dtype) -> None:
    ours = oracle.counterpart(op.op)
    wrap, ours_wrap = op.gradcheck_wrapper, oracle.counterpart(op.gradcheck_wrapper)
    options: dict[str, Any] = {}
    if what == "jvp":
        options["by_transposition"] = op.name in TANGENT_BY_TRANSPOSITION
    for sample in _samples(op, what, dtype, requires_grad=what != "jvp"):
        given = tensors_in((sample.input, sample.args, sample.kwargs))
        if any(t.dtype == torch.float32 for t in given):
            options["tol"] = oracle.TOLERANCES["float32"]
        reduce = sample.output_process_fn_grad
        ours_reduce = oracle.counterpart(reduce)

        def theirs_call(*args: Any, reduce: Any = reduce, **kwargs: Any) -> Any:
            oracle.seed_torch()
            return reduce(wrap(op.op, *args, **kwargs))

        def ours_call(*args: Any, reduce: Any = ours_reduce, **kwargs: Any) -> Any:
            oracle.seed_clew()
            return reduce(ours_wrap(ours, *args, **kwargs))

        args, kwargs = fresh_leaves(((sample.input, *sample.args), sample.kwargs))

        def check(*given: Any) -> None:
            DERIVATIVES[what](*given, **options)

        _naming(sample, check, ours_call, theirs_call, args, kwargs)


def _check_vmap(op: Any, dtype: torch.dtype) -> None:
    """All tensors stacked, and the first one only: vmap gives what torch's vmap gives."""
    ours = oracle.counterpart(op.op)
    for sample in _samples(op, "vmap", dtype):
        for alone in (False, True):
            _naming(sample, _vmapped, op, ours, sample, alone, label=f"alone={alone}")


def _vmapped(op: Any, ours: Any, sample: Any, alone: bool) -> None:
    theirs = op.op
    flat, spec = torch.utils._pytree.tree_flatten(((sample.input, *sample.args), sample.kwargs))
    places = [i for i, v in enumerate(flat) if isinstance(v, torch.Tensor)][: 1 if alone else None]
    if not places:
        return
    stacked = [torch.stack([flat[i].detach(), flat[i].detach()]) for i in places]

    def call(function: Any, values: list[Any]) -> Any:
        def of_tensors(*tensors: Any) -> Any:
            filled = list(values)
            for place, tensor in zip(places, tensors, strict=True):
                filled[place] = tensor
            args, kwargs = torch.utils._pytree.tree_unflatten(filled, spec)
            result = function(*args, **kwargs)
            return tensors_in(comparable(op.name, result, sample))

        return of_tensors

    oracle.seed_torch()
    kind = {"randomness": "different"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected, error = oracle.outcome(torch.vmap(call(theirs, flat), **kind), *stacked)
    if error is not None:
        return
    oracle.seed_clew()
    actual = clew.vmap(call(ours, oracle.to_clew(flat)), **kind)(*oracle.to_clew(stacked))
    drawn = not torch.equal(torch.default_generator.get_state(), oracle._FRESH)
    if not drawn and op.name not in UNINITIALISED:
        for number, (mine, other) in enumerate(zip(actual, expected, strict=True)):
            _assert_equal(op.name, mine, other, (stacked, {}), f"result[{number}]")


def _check_errors(op: Any, _dtype: torch.dtype | None) -> None:
    oracle.seed_torch()
    ours = oracle.counterpart(op.op)
    for error_input in op.error_inputs_func(op, "cpu"):
        sample = error_input.sample_input
        args = (sample.input, *sample.args)
        if left_out(full_name(op), "errors", sample):
            continue
        if not all(map(_representable, tensors_in((args, sample.kwargs)))):
            continue
        _naming(sample, _same_refusal, op.op, ours, (args, sample.kwargs), error_input.error_regex)


def _same_refusal(theirs: Any, ours: Any, given: Any, words: str = "") -> None:
    ours_args, ours_kwargs = oracle.to_clew(given)
    _, expected = oracle.outcome(theirs, *given[0], **given[1])
    if expected is not None:
        _, actual = oracle.outcome(ours, *ours_args, **ours_kwargs)
        assert_refused(actual, expected, words)


def _check_rejected(op: Any, dtype: torch.dtype) -> None:
    """A dtype that the op does not take: refused alike."""
    ours = oracle.counterpart(op.op)
    found, error = oracle.outcome(lambda: list(_samples(op, "rejected", dtype))[:4])
    for sample in found if error is None else ():
        _naming(sample, _same_refusal, op.op, ours, ((sample.input, *sample.args), sample.kwargs))


CHECKS: dict[str, Callable[[Any, Any], None]] = {
    "forward": _check_forward,
    "reference": _check_reference,
    "gaps": _check_noncontiguous,
    "variants": _check_variants,
    "out": _check_out,
    "grad": lambda op, dtype: _check_derivative("grad", op, dtype),
    "gradgrad": lambda op, dtype: _check_derivative("gradgrad", op, dtype),
    "jvp": lambda op, dtype: _check_derivative("jvp", op, dtype),
    "vmap": _check_vmap,
    "errors": _check_errors,
    "rejected": _check_rejected,
}


def _dtypes(op: Any, what: str) -> tuple[Any, ...]:
    supported = tuple(d for d in DTYPES if d in op.supported_dtypes("cpu"))
    if what == "errors":
        return (None,) if op.error_inputs_func is not None else ()
    if what == "rejected":
        return tuple(d for d in DTYPES if d not in supported)
    if what == "out":
        return tuple(d for d in supported if op.supports_out and d in _FEW)
    if what in ("variants", "gaps"):
        return tuple(d for d in supported if d in _FEW)
    if what == "vmap":
        return tuple(d for d in supported if d in _FEW)[:1]
    if what in DERIVATIVES:
        able = {
            "grad": op.supports_autograd,
            "gradgrad": op.supports_gradgrad,
            "jvp": op.supports_forward_ad,
        }
        return tuple(
            d
            for d in (torch.float64, torch.complex128)
            if d in supported and op.supports_autograd and able[what]
        )
    return supported


_FEW = (torch.float64, torch.int64, torch.complex128, torch.bool)


def failures(op: Any, what: str, only: list[str] | None) -> Iterator[Failure]:
    """The first failure of each dtype."""
    for dtype in _dtypes(op, what):
        label = "-" if dtype is None else short_name(dtype)
        if only is not None and label not in only:
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                CHECKS[what](op, dtype)
        except CheckFailed as error:
            yield Failure(full_name(op), what, label, str(error))
        except Exception as error:  # of the samples' own code, or a name that is missing
            yield Failure(full_name(op), what, label, f"{type(error).__name__}: {error}")


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--op")
    parser.add_argument("--what", default=",".join(CHECKS))
    parser.add_argument("--dtype")
    parser.add_argument("--samples", type=int, default=LIMITS["samples"])
    parser.add_argument("--seconds", type=float, default=LIMITS["seconds"])
    parser.add_argument("--shard", default="0/1")
    arguments = parser.parse_args(argv)
    torch.set_num_threads(1)
    LIMITS.update(samples=arguments.samples, seconds=arguments.seconds)
    part, count = map(int, arguments.shard.split("/"))
    chosen = sorted(_selected(arguments.op, op_db), key=full_name)[part::count]
    only = arguments.dtype.split(",") if arguments.dtype else None
    chosen = [op for op in chosen if out_of_scope(full_name(op)) is None]
    seen: dict[str, set[str]] = {"FAIL": set(), "KNOWN": set()}
    for op in chosen:
        for what in arguments.what.split(","):
            for failure in failures(op, what, only):
                kind = "KNOWN" if failure.key in {**DEPARTURES, **WIDE_DEPARTURES} else "FAIL"
                seen[kind].add(failure.op)
                print(f"{kind} {failure.op:32} {what:9} {failure.dtype:10} {failure.message}")
                sys.stdout.flush()
    passed = len(chosen) - len(seen["FAIL"] | seen["KNOWN"])
    departing = len(seen["KNOWN"] - seen["FAIL"])
    print(
        f"{len(chosen)} entries checked: {passed} pass, {departing} depart as listed, "
        f"{len(seen['FAIL'])} fail"
    )
    return int(bool(seen["FAIL"]))


if __name__ == "__main__":
    sys.exit(main())
