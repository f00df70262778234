"""clew against PyTorch on the samples of PyTorch's own op database (op_db).

python -m tests.opdb                      coverage report over all ops in scope
python -m tests.opdb --op softmax         one op (all its variants), or a pattern: 'fft.*'
python -m tests.opdb --what forward,grad  only these checks
python -m tests.opdb --missing            only list what clew does not have yet
python -m tests.opdb --dtype float32      only this dtype
"""

from __future__ import annotations

import argparse
import functools
import itertools
import operator
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db

import clew

from . import oracle
from .derivatives import check_grad, check_gradgrad, check_jvp
from .opdb_expected import (
    ANY_ORDER,
    ROUNDED_AT_EACH_STEP,
    SUMS_OF_PRODUCTS,
    TANGENT_BY_TRANSPOSITION,
    left_out,
    out_of_scope,
)
from .tensors import fresh_leaves, is_tensor, rounded_once, short_name, tensors_in

WHATS = ("forward", "variants", "grad", "gradgrad", "jvp", "errors")
MAX_SAMPLES = {
    ("forward", "float64"): 10,
    ("grad", "float64"): 8,
    ("gradgrad", "float64"): 4,
    ("jvp", "float64"): 4,
    ("errors", "-"): 30,
}
"""How many samples of an op are run, per check and dtype; elsewhere MAX_OTHER_SAMPLES."""
MAX_OTHER_SAMPLES = 6
MAX_ELEMENTS = 2_000
FORWARD_DTYPES = (
    torch.float64,
    torch.float32,
    torch.bfloat16,
    torch.int64,
    torch.bool,
    torch.complex128,
)

UNINITIALISED = {
    "empty",
    "empty_like",
    "new_empty",
    "empty_strided",
    "new_empty_strided",
    "empty_permuted",
    "resize_",
    "resize_as_",
}
"""Ops whose values mean nothing; only shape and dtype are compared."""

UP_TO_A_PHASE = {"linalg.svd", "svd", "linalg.eigh", "linalg.eig", "svd_lowrank", "pca_lowrank"}
"""Ops whose vectors are unique up to a phase; compared after the op_db sample's own reduction."""


@dataclass(frozen=True)
class Failure:
    """One check that failed: which op, which check, which dtype, and the first line of why."""

    op: str
    what: str
    dtype: str
    message: str

    @property
    def key(self) -> tuple[str, str, str]:
        return self.op, self.what, self.dtype


def full_name(op: Any) -> str:
    """'div.floor_rounding' for the variant floor_rounding of div."""
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else str(op.name)


def ops_in_scope() -> list[Any]:
    """The OpInfos that clew is to cover."""
    return [op for op in op_db if out_of_scope(full_name(op)) is None]


def is_missing(op: Any) -> bool:
    """Whether clew has no function and no method of the op's name."""
    if oracle.exists(op.name):
        return False
    _, error = oracle.outcome(oracle.counterpart, op.op)
    return isinstance(error, oracle.Missing)


# ---------------------------------------------------------------- samples


def _spread(items: Iterable[Any], cap: int) -> list[Any]:
    """At most `cap` items, evenly spaced over the first many, the first one included."""
    pool = list(itertools.islice(items, 12 * cap))
    step = max(1, -(-len(pool) // cap))
    return pool[::step]


def _is_small(sample: Any) -> bool:
    given = tensors_in((sample.input, sample.args, sample.kwargs))
    return all(t.numel() <= MAX_ELEMENTS for t in given)


def samples(op: Any, what: str, dtype: torch.dtype, requires_grad: bool) -> Iterator[Any]:
    """The op's sample inputs in op_db: few, small, and the same on every run."""
    oracle.seed_torch()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # op.sample_inputs() would seed before every sample, which takes longer than the checks.
        found = op.sample_inputs_func(op, "cpu", dtype, requires_grad)
        cap = MAX_SAMPLES.get((what, short_name(dtype)), MAX_OTHER_SAMPLES)
        wanted = (s for s in found if not left_out(full_name(op), what, s))
        first, wanted = itertools.tee(wanted)
        # An op that has large samples only is checked on the first ones.
        yield from _spread(filter(_is_small, wanted), cap) or list(itertools.islice(first, 2))


def _representable(tensor: torch.Tensor) -> bool:
    """Error inputs may be on other devices, have no memory, or more dimensions than NumPy."""
    if tensor.device.type != "cpu":
        return False
    if tensor.layout != torch.strided:
        return True
    has_memory = tensor.numel() == 0 or tensor.untyped_storage().nbytes() > 0
    return has_memory and tensor.dim() <= oracle.MAX_DIMS


def _describe(sample: Any) -> str:
    parts = [_brief(a) for a in (sample.input, *sample.args)]
    parts += [f"{k}={_brief(v)}" for k, v in sample.kwargs.items()]
    return f"({', '.join(parts)})"[:160]


def _brief(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"{short_name(value.dtype)}{list(value.shape)}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_brief(v) for v in value)}]"
    return repr(value)


# ---------------------------------------------------------------- checks


def _forward(
    function: Callable[..., Any], ours: Callable[..., Any], sample: Any, name: str
) -> None:
    """Same result and same effect on the inputs, or the same kind of exception."""
    theirs_in = (sample.input, *sample.args), sample.kwargs
    ours_in, before = oracle.to_clew(theirs_in), oracle.copies(theirs_in)
    results = oracle.both(ours, function, ours_in, theirs_in)
    if results is None:
        return
    actual, expected = results
    base = name.partition(".")[0] if name.startswith("resize") else name
    if base in UNINITIALISED:
        actual, expected = clew.zeros_like(actual), torch.zeros_like(expected)
    actual = comparable(name, actual, sample)
    expected = comparable(name, expected, sample)
    oracle.assert_same(actual, expected, None, _absolute_tolerance(name, expected))
    if base not in UNINITIALISED:
        oracle.assert_same_inputs(ours_in, theirs_in, before)


def _absolute_tolerance(name: str, expected: Any) -> float | None:
    """None for the dtype's own."""
    if name not in SUMS_OF_PRODUCTS or expected.dtype != torch.float32 or not expected.numel():
        return None
    rtol, atol = oracle.TOLERANCES["float32"]
    return max(atol, rtol * float(expected.abs().max()))


def comparable(name: str, result: Any, sample: Any) -> Any:
    """A result of either library, without what is the library's own choice."""
    if name in UP_TO_A_PHASE:
        reduce = sample.output_process_fn_grad
        is_torch = all(isinstance(t, torch.Tensor) for t in tensors_in(result))
        result = reduce(result) if is_torch else oracle.counterpart(reduce)(result)
    return _in_order(result) if name in ANY_ORDER else result


def _in_order(result: Any) -> Any:
    """Eigenvalues by their rounded real parts, then by their imaginary parts."""
    values = result if is_tensor(result) else result[0]
    order = (values.real * 1000).round() * 1e6 + values.imag
    places = order.argsort(-1)
    values = values.gather(-1, places)
    if is_tensor(result):
        return values
    vectors = result[1]
    return values, vectors.gather(-1, places.unsqueeze(-2).expand(vectors.shape))


def _variants(op: Any) -> dict[str, Callable[..., Any]]:
    """The other ways to call the op: method, in-place, operator, and its aliases."""
    forms = {
        "method": op.method_variant,
        "in-place": op.inplace_variant,
        "operator": op.operator_variant,
        "in-place operator": op.inplace_operator_variant,
    }
    forms |= {f"alias {alias.name}": alias.op for alias in op.aliases}
    return {label: form for label, form in forms.items() if form is not None}


def _check_forward(op: Any, dtype: torch.dtype) -> None:
    ours, theirs = oracle.counterpart(op.op), op.op
    if full_name(op) in ROUNDED_AT_EACH_STEP.get(short_name(dtype), ()):
        theirs = rounded_once(theirs)
    for sample in samples(op, "forward", dtype, requires_grad=False):
        _naming(sample, _forward, theirs, ours, sample, op.name)


def _check_variants(op: Any, dtype: torch.dtype) -> None:
    for label, form in _variants(op).items():
        is_operator = form in vars(operator).values()
        ours = form if is_operator else oracle.counterpart(form)
        for sample in samples(op, "variants", dtype, requires_grad=False):
            if isinstance(sample.input, torch.Tensor) or label.startswith("alias"):
                _naming(sample, _forward, form, ours, sample, op.name, label=label)


def _check_derivative(check: Callable[..., None], what: str, op: Any, dtype: torch.dtype) -> None:
    ours = oracle.counterpart(op.op)
    # It makes inputs symmetric, or triangular, where only such ones may be varied.
    wrap, ours_wrap = op.gradcheck_wrapper, oracle.counterpart(op.gradcheck_wrapper)
    for sample in samples(op, what, dtype, requires_grad=what != "jvp"):
        reduce = sample.output_process_fn_grad
        ours_reduce = oracle.counterpart(reduce)

        def theirs_call(*args: Any, reduce: Any = reduce, **kwargs: Any) -> Any:
            oracle.seed_torch()
            return reduce(wrap(op.op, *args, **kwargs))

        def ours_call(*args: Any, reduce: Any = ours_reduce, **kwargs: Any) -> Any:
            oracle.seed_clew()
            return reduce(ours_wrap(ours, *args, **kwargs))

        args, kwargs = fresh_leaves(((sample.input, *sample.args), sample.kwargs))
        _naming(sample, check, ours_call, theirs_call, args, kwargs)


def _check_errors(op: Any, _dtype: torch.dtype | None) -> None:
    oracle.seed_torch()
    ours = oracle.counterpart(op.op)
    for error_input in _spread(op.error_inputs_func(op, "cpu"), MAX_SAMPLES["errors", "-"]):
        sample = error_input.sample_input
        if left_out(full_name(op), "errors", sample):
            continue
        args = (sample.input, *sample.args)
        if not all(map(_representable, tensors_in((args, sample.kwargs)))):
            continue
        ours_args, ours_kwargs = oracle.to_clew((args, sample.kwargs))
        _, expected = oracle.outcome(op.op, *args, **sample.kwargs)
        if expected is None:
            continue
        _, actual = oracle.outcome(ours, *ours_args, **ours_kwargs)
        _naming(sample, assert_refused, actual, expected, error_input.error_regex)


def assert_refused(actual: Exception | None, expected: Exception, words: str) -> None:
    """clew raises what torch raises, with the words that op_db looks for."""
    oracle.assert_same_error(actual, expected)
    if re.search(words, str(expected)):
        assert re.search(words, str(actual)), f"{oracle.first_line(actual)!r} lacks {words!r}"  # type: ignore[arg-type]  # it is an exception


class CheckFailed(AssertionError):
    """A check failed on one sample; says which sample."""


def _naming(sample: Any, check: Callable[..., None], *args: Any, label: str = "") -> None:
    try:
        check(*args)
    except Exception as error:  # raised again, with the sample's name
        kind = "" if isinstance(error, AssertionError) else f"{type(error).__name__}: "
        place = f" {label}" if label else ""
        text = f"{kind}{oracle.first_line(error)}  <-{place} {_describe(sample)}"
        raise CheckFailed(text) from error


def _dtypes(op: Any, what: str) -> tuple[torch.dtype | None, ...]:
    if what == "errors":
        return (None,) if op.error_inputs_func is not None else ()
    if what == "forward":
        return tuple(d for d in FORWARD_DTYPES if d in op.supported_dtypes("cpu"))
    if what == "variants":
        supported = [d for d in FORWARD_DTYPES if d in op.supported_dtypes("cpu")]
        return tuple(supported[:1])
    claims = {
        "grad": op.supports_autograd,
        "gradgrad": op.supports_autograd and op.supports_gradgrad,
        "jvp": op.supports_autograd and op.supports_forward_ad,
    }
    if not claims[what]:
        return ()
    supported = [d for d in op.supported_backward_dtypes("cpu") if d in op.supported_dtypes("cpu")]
    return tuple(d for d in (torch.float64, torch.complex128) if d in supported)


def _check_forward_mode(op: Any, dtype: torch.dtype) -> None:
    by_transposition = op.name in TANGENT_BY_TRANSPOSITION
    check = functools.partial(check_jvp, by_transposition=by_transposition)
    _check_derivative(check, "jvp", op, dtype)


_CHECKS: dict[str, Callable[[Any, Any], None]] = {
    "forward": _check_forward,
    "variants": _check_variants,
    "grad": lambda op, dtype: _check_derivative(check_grad, "grad", op, dtype),
    "gradgrad": lambda op, dtype: _check_derivative(check_gradgrad, "gradgrad", op, dtype),
    "jvp": _check_forward_mode,
    "errors": _check_errors,
}


def failures(op: Any, what: str, only_dtype: str | None = None) -> Iterator[Failure]:
    """Run one check of one op over its dtypes; yields the first failure of each dtype."""
    for dtype in _dtypes(op, what):
        label = "-" if dtype is None else short_name(dtype)
        if only_dtype not in (None, label):
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                _CHECKS[what](op, dtype)
        except CheckFailed as error:
            yield Failure(full_name(op), what, label, str(error))
        except (oracle.Missing, oracle.Untranslatable) as error:
            yield Failure(full_name(op), what, label, f"{type(error).__name__}: {error}")


# ---------------------------------------------------------------- report


def _selected(pattern: str | None, ops: list[Any] | None = None) -> list[Any]:
    ops = ops_in_scope() if ops is None else ops
    if pattern is None:
        return ops
    return [
        op
        for op in ops
        if fnmatchcase(op.name, pattern)
        or fnmatchcase(full_name(op), pattern)
        or fnmatchcase(op.name, f"*.{pattern}")
    ]


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.opdb",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--op", metavar="NAME", help="an op_db name or pattern")
    parser.add_argument("--what", default=",".join(WHATS), help=f"of {', '.join(WHATS)}")
    parser.add_argument("--dtype", help="only this dtype")
    parser.add_argument("--missing", action="store_true", help="only list the missing ops")
    parser.add_argument("--times", action="store_true", help="also list the slowest ops")
    arguments = parser.parse_args(argv)
    unknown = set(arguments.what.split(",")) - set(WHATS)
    if unknown:
        parser.error(f"unknown check {', '.join(sorted(unknown))}; choose of {', '.join(WHATS)}")
    return arguments


def main(argv: list[str] | None = None) -> int:
    """Print the coverage report; the exit status is 1 when anything is missing or fails."""
    arguments = _arguments(argv)
    torch.set_num_threads(1)
    chosen = _selected(arguments.op)
    if not chosen:
        print(f"no op of op_db in scope matches {arguments.op!r}")
        return 2
    missing = sorted({op.name for op in chosen if is_missing(op)})
    present = sorted((op for op in chosen if not is_missing(op)), key=full_name)
    print(f"missing: {len(missing)} names")
    for name in missing:
        print(f"  {name}")
    if arguments.missing:
        return int(bool(missing))
    failed, slow = _report_failures(present, arguments.what.split(","), arguments.dtype)
    if arguments.times:
        for seconds, name in sorted(slow, reverse=True)[:25]:
            print(f"  {seconds:6.2f} s  {name}")
    print(
        f"{len(present)} ops checked, {len(present) - len(failed)} pass, "
        f"{len(failed)} fail, {len(missing)} missing"
    )
    return int(bool(missing or failed))


def _report_failures(
    present: list[Any], whats: list[str], dtype: str | None
) -> tuple[set[str], list[tuple[float, str]]]:
    failed: set[str] = set()
    slow: list[tuple[float, str]] = []
    for op in present:
        start = time.perf_counter()
        for what in whats:
            for failure in failures(op, what, dtype):
                failed.add(failure.op)
                print(f"FAIL {failure.op:32} {what:8} {failure.dtype:10} {failure.message}")
                sys.stdout.flush()
        slow.append((time.perf_counter() - start, full_name(op)))
    return failed, slow


if __name__ == "__main__":
    sys.exit(main())
