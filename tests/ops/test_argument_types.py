"""Arguments of wrong types: the exception has torch's type, over the whole table of operations.

Each argument of each sample is replaced by values that cannot be right, and each flag and number
that the sample leaves out is given such values by name. Whether an exception is raised, and its
type, must agree with torch.
"""

from __future__ import annotations

import functools
import inspect
import operator
import re
import warnings
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest
import torch

import clew
from tests import oracle
from tests.ops.test_ops import CASES
from tests.sampling import Maker, OpCase, Sample

WRONG: dict[str, Any] = {
    "str": "x",
    "object": object(),
    "float": 1.5,
    "list": ["a"],
    "none": None,
    "dict": {},
}

# Torch's own Python code runs into these; clew names the argument in a TypeError instead, or the
# values that there are in a ValueError.
STUMBLES = re.compile(
    r"object has no attribute|tuple index out of range|not enough values to unpack|has no len\(\)|"
    r"invalid literal for int|unsupported operand type|but got size 0|can only concatenate"
)

# (function, argument): what clew does instead, and why.
DEPARTURES: dict[tuple[str, str], tuple[type[Exception] | None, str]] = {
    ("squeeze", "1"): (None, "None is the default, and may be written down"),
    ("trapezoid", "dx"): (None, "None is the default, and may be written down"),
    ("repeat_interleave", "1"): (RuntimeError, "None reads as the form without an input"),
    ("to", "1"): (TypeError, "torch takes a float for the first argument, and does nothing"),
    ("to", "non_blocking"): (None, "one device has nothing to wait for"),
    ("to", "copy"): (None, "a flag that is read by its truth"),
    ("expand", "implicit"): (None, "a flag of torch's tracer, which is not looked at"),
    ("unflatten", "2"): (TypeError, "torch reads None as an empty shape"),
    ("nn.functional.affine_grid", "1"): (TypeError, "torch counts the letters of a string"),
    ("nn.functional.gaussian_nll_loss", "full"): (TypeError, "torch takes anything for it"),
    ("nn.functional.gaussian_nll_loss", "eps"): (TypeError, "torch names what it does with it"),
    ("nn.functional.multi_margin_loss", "p"): (TypeError, "torch says which numbers there are"),
    ("nn.functional.embedding_bag", "norm_type"): (TypeError, "torch reads it with max_norm only"),
    ("nn.functional.interpolate", "mode"): (TypeError, "a list is no name"),
    **{
        (f"nn.functional.max_unpool{dims}d", "2"): (TypeError, "torch counts windows of size 1.5")
        for dims in (1, 2, 3)
    },
}

# Annotations of parameters that are given wrong values though samples leave them out.
GIVEN = ("bool", "int", "float", "complex")

FIRST_ROWS = list({case.name: case for case in reversed(CASES)}.values())[::-1]


def function_of(library: ModuleType, case: OpCase, form: str) -> Callable[..., Any] | None:
    path = case.name if form == "function" else f"Tensor.{case.name}"
    try:
        found = operator.attrgetter(path)(library)
    except AttributeError:
        return None
    # `torch.double` is a dtype, and only `x.double` a function.
    return found if callable(found) else None


def samples_of(case: OpCase) -> list[Sample]:
    return list(case.samples(Maker(torch.float32, case.domain, False)))[:3]


def replaced(sample: Sample, form: str) -> Iterator[tuple[str, str, Sample]]:
    """The sample with one argument after the other replaced: which one, by what, and the sample."""
    for kind, wrong in WRONG.items():
        for place in range(form == "method", len(sample.args)):
            args = [*sample.args[:place], wrong, *sample.args[place + 1 :]]
            yield str(place), kind, Sample(*args, **sample.kwargs)
        for name in sample.kwargs:
            yield name, kind, Sample(*sample.args, **{**sample.kwargs, name: wrong})


def with_more(sample: Sample, function: Callable[..., Any]) -> Iterator[tuple[str, str, Sample]]:
    """The sample with wrong values for the flags and numbers that it leaves out."""
    parameters = list(inspect.signature(function).parameters.values())
    for place, parameter in enumerate(parameters):
        by_name = parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
        if parameter.annotation not in GIVEN or not by_name or parameter.name in sample.kwargs:
            continue
        if place >= len(sample.args):
            for kind, wrong in WRONG.items():
                kwargs = {**sample.kwargs, parameter.name: wrong}
                yield parameter.name, kind, Sample(*sample.args, **kwargs)


def called(function: Callable[..., Any], sample: Sample) -> Exception | None:
    _, error = oracle.outcome(function, *sample.args, **sample.kwargs)
    return error


def in_clew(sample: Sample) -> Sample:
    convert = functools.partial(_converted, wrong=list(WRONG.values()))
    return Sample(*map(convert, sample.args), **{k: convert(v) for k, v in sample.kwargs.items()})


def _converted(value: Any, wrong: list[Any]) -> Any:
    return value if any(value is each for each in wrong) else oracle.to_clew(value)


def agree(ours: Exception | None, theirs: Exception | None) -> bool:
    if theirs is None or ours is None:
        return ours is theirs
    if STUMBLES.search(str(theirs)):
        return isinstance(ours, (TypeError, ValueError))
    return isinstance(ours, type(theirs)) or isinstance(theirs, type(ours))


def disagreements(case: OpCase) -> Iterator[tuple[tuple[str, str], str, Any, Any]]:
    for form in ("function", "method"):
        theirs, ours = function_of(torch, case, form), function_of(clew, case, form)
        if theirs is None or ours is None:
            continue
        for number, sample in enumerate(samples_of(case)):
            if form == "method" and not (sample.args and isinstance(sample.args[0], torch.Tensor)):
                continue
            changed = [*replaced(sample, form), *([] if number else with_more(sample, ours))]
            for argument, kind, wrong in changed:
                expected = called(theirs, wrong)
                if "unexpected keyword argument" in str(expected):
                    continue
                found = called(ours, in_clew(wrong))
                if not agree(found, expected):
                    yield (case.name, argument), f"{form} with {kind}", found, expected


@pytest.mark.parametrize("case", FIRST_ROWS, ids=lambda case: case.id)
def test_wrong_types_raise_what_torch_raises(case: OpCase) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = list(disagreements(case))
    unexplained = []
    for key, how, ours, theirs in found:
        departure = DEPARTURES.get(key, (Warning, ""))[0]
        fits = ours is None if departure is None else isinstance(ours, departure)
        if not fits:
            unexplained.append(f"argument {key[1]} ({how}): {ours!r} for {theirs!r}")
    assert not unexplained, "\n".join(dict.fromkeys(unexplained))
    listed = {key for key in DEPARTURES if key[0] == case.name}
    assert listed <= {key for key, *_ in found}, "a departure that is none: take it off the list"


X = clew.ones(2, 3)
F: Any = clew.nn.functional
SPOKEN: list[tuple[Callable[[], Any], str]] = [
    (lambda: clew.gather(X, 0, "x"), "gather(): argument 'index' (position 3) must be Tensor, not"),
    (lambda: X.gather(0, "x"), "gather(): argument 'index' (position 2) must be Tensor, not str"),
    (lambda: X.kthvalue(1, keepdim="x"), "kthvalue(): argument 'keepdim' must be bool, not str"),
    (lambda: X.rot90(1.5), "rot90(): argument 'k' (position 1) must be int, not float"),
    (lambda: X.tril(True), "tril(): argument 'diagonal' (position 1) must be int, not bool"),
    (lambda: clew.rot90(X, 1, ["a", 0]), "rot90(): argument 'dims' (position 3) must be tuple of"
     " ints, but found element of type str at pos 0"),
    (lambda: clew.sum(X, "a"), "sum() received an invalid combination of arguments - got (Tensor,"),
    (lambda: X.sum(0, keepdim=1), "sum(): argument 'keepdim' must be bool, not int"),
    (lambda: X.max(0, keepdim=1), "max(): argument 'keepdim' must be bool, not int"),
    (
        lambda: X.transpose(0, "a"),
        "transpose(): argument 'dim1' (position 2) must be int, not str",
    ),
    (lambda: X.view("a"), "a shape must be a tuple of ints, not of str"),
    (lambda: X.expand_as(3), "expand_as(): argument 'other' (position 1) must be Tensor, not int"),
    (lambda: X.view_as(3), "view_as(): argument 'other' (position 1) must be Tensor, not int"),
    (lambda: X.type_as(3), "type_as(): argument 'other' (position 1) must be Tensor, not int"),
    (lambda: F.selu(3), "selu(): argument 'input' (position 1) must be Tensor"),
    (lambda: F.relu6(3), "relu6(): argument 'input' (position 1) must be Tensor"),
    (lambda: clew.block_diag(X, 3), "block_diag(): argument 'tensors' (position 2) must be Tensor"),
    (lambda: clew.tensor([None], dtype=clew.float32), "must be real number, not NoneType"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "words"), SPOKEN, ids=[words for _, words in SPOKEN])
def test_the_argument_is_named(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(TypeError) as caught:
        call()
    assert str(caught.value).startswith(words)
    assert "test_argument_types.py" in str(caught.value)


def test_what_torch_reads_by_truth_stays_so() -> None:
    x = clew.arange(8.0).reshape(1, 1, 8)
    _, places = F.max_pool1d(x, 2, return_indices=1)
    assert places.tolist() == [[[1, 3, 5, 7]]]
    assert F.threshold(x, 2.0, 0.0, inplace=1) is x
    loss = F.gaussian_nll_loss(x, x, clew.ones(1, 1, 8), full=1)
    assert loss.item() == pytest.approx(0.9189385)


@pytest.mark.parametrize("shape", [(), (3,), (3, 3)])
@pytest.mark.parametrize("name", ["unfold", "adaptive_avg_pool2d", "adaptive_avg_pool3d"])
def test_too_few_dimensions(name: str, shape: tuple[int, ...]) -> None:
    _, theirs = oracle.outcome(getattr(torch.nn.functional, name), torch.ones(shape), 2)
    _, ours = oracle.outcome(getattr(F, name), clew.ones(shape), 2)
    assert type(ours) is type(theirs), f"{ours!r} for {theirs!r}"


def test_index_out_of_range_and_no_index() -> None:
    with pytest.raises(IndexError, match=r"^index out of range in self"):
        X.index_select(0, clew.tensor([5]))
    with pytest.raises(TypeError, match=r"^new\(\): invalid data type 'str'"):
        X["a"]
