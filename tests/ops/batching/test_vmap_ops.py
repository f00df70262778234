"""vmap over every row of tests/cases/*, against the loop over the examples and torch.func.vmap."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

import clew
import clew.func
from clew.core.op import OPS
from clew.core.unstrided import LayoutOp
from clew.ops.batching import tables
from clew.ops.batching.rules import DECOMPOSED, RULES, missing
from tests.batched import (
    Batch,
    batches,
    check_gradients,
    check_values,
    choices,
    looped,
    replace_tensors,
    tensors_of,
)
from tests.ops.test_ops import CASES
from tests.sampling import OpCase
from tests.tensors import to_numpy, to_torch

# Rows that cannot be batched, and the first words that say so.
DYNAMIC = "vmap: We do not support batching operators that can"
REFUSED = {
    "nonzero": DYNAMIC,
    "nonzero-as_tuple": DYNAMIC,
    "argwhere": "stack expects each tensor to be equal size",
    "masked_select": DYNAMIC,
    "bincount": DYNAMIC,
    "unique": DYNAMIC,
    # `where(condition)` is nonzero.
    "where": DYNAMIC,
    # One Python bool for all examples.
    "allclose": "vmap over torch.allclose isn't supported",
    "equal": "Batching rule not implemented for aten::equal",
    # The number of classes is read off the values.
    "nn.functional.one_hot": "When vmap-ing torch.nn.functional.one_hot",
    # The size of the result is the sum of the repeats.
    "repeat_interleave": "stack expects each tensor to be equal size",
    "nn.functional.ctc_loss": "vmap: there is no batching rule for `ctc_loss`",
    "histogramdd": "vmap: there is no batching rule for `histogram",
    # Each example by itself: not followed by gradients inside of vmap.
    "segment_reduce": "vmap: there is no batching rule for `segment_reduce`",
    "multinomial": "vmap: called random operation",
}
every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def run(
    case: OpCase, check: Callable[..., None], refused: dict[str, str],
    samples: int,
) -> None:  # fmt: skip
    failed = []
    for batch in itertools.islice(batches(case), samples):
        for batched in choices(len(batch.examples[0])):
            expected = looped(batch, batched)
            if expected is None:
                continue
            try:
                check(batch, batched, expected)
            except Exception as error:  # all failures are told together, below
                text = str(error)
                if case.id in refused and text.startswith(refused[case.id]):
                    continue
                shapes = [tuple(t.shape) for t in batch.examples[0]]
                failed.append(f"{shapes} batched {batched}: {type(error).__name__}: {text[:300]}")
    assert not failed, f"{len(failed)} calls fail\n" + "\n".join(failed)


@every_case
def test_values(case: OpCase) -> None:
    run(case, check_values, REFUSED, 8)


@every_case
def test_gradients(case: OpCase) -> None:
    def check(batch: Batch, batched: tuple[bool, ...], _: Any) -> None:
        try:
            check_gradients(batch, batched)
        except (NotImplementedError, RuntimeError) as error:
            # Arguments without a derivative are refused without vmap in the same words.
            if "derivative" not in str(error) and "not differentiable" not in str(error):
                raise

    run(case, check, REFUSED, 2)


def _torch_vmap(batch: Batch, case: OpCase, stacked: list[Any]) -> Any:
    def function(*tensors: Any) -> tuple[Any, ...]:
        there = iter(tensors)
        args, kwargs = to_torch(batch.template)
        args, kwargs = replace_tensors((args, kwargs), there)
        return tuple(tensors_of(case.torch_function()(*args, **kwargs)))

    return torch.func.vmap(function)(*[to_torch(each) for each in stacked])


@every_case
def test_same_as_torch(case: OpCase) -> None:
    """Where torch.func.vmap takes a row, the results agree."""
    for batch in itertools.islice(batches(case), 1):
        every = (True,) * len(batch.examples[0])
        if looped(batch, every) is None:
            continue
        stacked = batch.stacked(every)
        try:
            expected = _torch_vmap(batch, case, stacked)
        except Exception:
            # What PyTorch cannot batch is compared with the loop, above.
            continue
        if case.id in REFUSED:
            continue
        actual = clew.vmap(batch)(*stacked)
        for ours, theirs in zip(actual, expected, strict=True):
            np.testing.assert_allclose(
                to_numpy(ours),
                to_numpy(theirs),
                rtol=1e-6,
                atol=1e-8,
                equal_nan=True,
            )


def test_every_operation_has_a_rule_or_says_why_not() -> None:
    assert tables.__all__  # the first `vmap` of a process imports them
    strided = {name for name in missing() if not isinstance(OPS[name], LayoutOp)}
    # Parts of grid_sample's gradient, whose index is an array; and a kernel that is used where
    # nobody sees operations: `vmap` sees those that it stands for.
    assert strided == {"grid_gather", "grid_scatter", "cosine_similarity"}


def test_no_rule_is_left_over() -> None:
    made_on_demand = ("index", "_index")
    left = {
        name
        for name in (*RULES, *DECOMPOSED)
        if name not in OPS and not name.startswith(made_on_demand)
    }
    assert not left


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("batched", [(0, None), (None, 0), (0, 0)])
def test_bags_of_embeddings(mode: str, batched: tuple[int | None, ...]) -> None:
    """With a padding index, an offset of the end, and tables of their own."""
    generator = np.random.RandomState(0)
    ids, tables = generator.randint(0, 5, (3, 7)), generator.randn(3, 5, 2)
    starts = np.array([[0, 2, 7], [0, 0, 7], [0, 3, 7]])

    def values(m: Any) -> list[Any]:
        def bags(i: Any, w: Any, o: Any) -> Any:
            return m.nn.functional.embedding_bag(
                i, w, o, mode=mode, padding_idx=1, include_last_offset=True
            )

        def loss(w: Any, i: Any, o: Any) -> Any:
            return (bags(i, w, o) * m.arange(2.0).double().exp()).sum()

        i, w, o = m.tensor(ids), m.tensor(tables), m.tensor(starts)
        i, w = (i if batched[0] == 0 else i[0]), (w if batched[1] == 0 else w[0])
        if m is clew:
            dims = (*batched, 0)
            slopes = m.func.vmap(m.func.grad(loss), in_dims=(dims[1], dims[0], 0))(w, i, o)
            return [m.func.vmap(bags, in_dims=dims)(i, w, o), slopes]
        each = [
            (i if batched[0] is None else i[n], w if batched[1] is None else w[n], o[n])
            for n in range(3)
        ]
        return [
            m.stack([bags(*one) for one in each]),
            m.stack([m.func.grad(loss)(one[1], one[0], one[2]) for one in each]),
        ]

    for ours, theirs in zip(values(clew), values(torch), strict=True):
        np.testing.assert_allclose(to_numpy(ours), to_numpy(theirs), rtol=1e-12)


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (lambda a: a.clone().as_strided_((2,), (1,)), "as_strided_"),
        (lambda a: a.clone().resize_(2), "resize_"),
        (lambda a: clew.nonzero(a), "nonzero"),
    ],
)
def test_what_has_no_rule_is_named(function: Callable[[Any], Any], name: str) -> None:
    with pytest.raises(RuntimeError, match=name):
        clew.vmap(function)(clew.rand(3, 4))
