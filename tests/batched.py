"""vmap against a loop over the examples, for any function of tensors: values and gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

import clew
from clew.autograd import grad as autograd_grad
from clew.func import grad, vmap

from . import oracle
from .sampling import Maker, OpCase, Sample
from .tensors import is_inexact, is_tensor, to_numpy

EXAMPLES = 3


def replace_tensors(value: Any, tensors: Iterator[Any]) -> Any:
    """The same arguments with other tensors in place of theirs."""
    if is_tensor(value):
        return next(tensors)
    if isinstance(value, dict):
        return {key: replace_tensors(each, tensors) for key, each in value.items()}
    if isinstance(value, tuple | list):
        return type(value)(replace_tensors(each, tensors) for each in value)
    return value


def tensors_of(value: Any) -> list[Any]:
    if is_tensor(value):
        return [value]
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, tuple | list):
        return [tensor for each in value for tensor in tensors_of(each)]
    return []


class Batch:
    """A call of an op for several examples: its function of tensors, and each example's tensors."""

    def __init__(self, function: Callable[..., Any], samples: list[Sample]) -> None:
        first = samples[0]
        self.template = oracle.to_clew((first.args, first.kwargs))
        self.function = function
        self.examples = [
            tensors_of(oracle.to_clew((sample.args, sample.kwargs))) for sample in samples
        ]

    def __call__(self, *tensors: Any) -> tuple[Any, ...]:
        """The tensors of the result."""
        args, kwargs = replace_tensors(self.template, iter(tensors))
        return tuple(tensors_of(self.function(*args, **kwargs)))

    def stacked(self, batched: tuple[bool, ...]) -> list[Any]:
        """All examples where they differ; else the first."""
        columns = list(zip(*self.examples, strict=True))
        return [
            clew.stack([each.detach() for each in column]) if own else column[0]
            for own, column in zip(batched, columns, strict=True)
        ]

    def example(self, number: int, batched: tuple[bool, ...]) -> list[Any]:
        return [self.examples[number if own else 0][index] for index, own in enumerate(batched)]


def batches(case: OpCase, dtype: torch.dtype = torch.float64) -> Iterator[Batch]:
    """For each sample of a row, a call with several examples of the same shapes."""
    lists = []
    for seed in range(EXAMPLES):
        make = Maker(dtype, case.domain)
        make._generator.manual_seed(seed)
        lists.append(list(case.samples(make)))
    for samples in zip(*lists, strict=True):
        shapes = [[t.shape for t in tensors_of((s.args, s.kwargs))] for s in samples]
        if shapes[0] and all(each == shapes[0] for each in shapes):
            yield Batch(case.function_of(clew), list(samples))


def choices(count: int) -> list[tuple[bool, ...]]:
    """Which arguments are batched: all, the first, all but the first."""
    every = (True,) * count
    if count == 1:
        return [every]
    return [every, (True, *(False,) * (count - 1)), (False, *(True,) * (count - 1))]


def weights(out: Any) -> Any:
    """Fixed numbers to weigh an output's elements with."""
    shape = tuple(out.shape)
    values = np.cos(np.arange(int(np.prod(shape, dtype=int)), dtype=float) * 0.7 + 1).reshape(shape)
    return clew.tensor(values)


def scalar_of(outs: tuple[Any, ...]) -> Any:
    """One real number that depends on all differentiable outputs."""
    total = None
    for out in outs:
        if not is_inexact(out) or out.dtype.is_complex:
            continue
        term = (out.double() * weights(out)).sum()
        total = term if total is None else total + term
    return total


def looped(batch: Batch, batched: tuple[bool, ...]) -> list[tuple[Any, ...]] | None:
    """The results one by one; None for samples that are there to be refused."""
    try:
        return [batch(*batch.example(number, batched)) for number in range(EXAMPLES)]
    except (RuntimeError, ValueError, TypeError, IndexError, NotImplementedError):
        return None


def check_values(batch: Batch, batched: tuple[bool, ...], expected: list[tuple[Any, ...]]) -> None:
    in_dims = tuple(0 if own else None for own in batched)
    actual = vmap(batch, in_dims=in_dims)(*batch.stacked(batched))
    for out, column in zip(actual, zip(*expected, strict=True), strict=True):
        assert out.dtype is column[0].dtype, (out.dtype, column[0].dtype)
        compare(out, clew.stack(list(column)))


def compare(actual: Any, expected: Any) -> None:
    ours, theirs = (to_numpy(each.detach()) for each in (actual, expected))
    assert ours.shape == theirs.shape, (ours.shape, theirs.shape)
    np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-8, equal_nan=True)


def differentiable(batch: Batch) -> tuple[int, ...]:
    return tuple(
        index
        for index, tensor in enumerate(batch.examples[0])
        if is_inexact(tensor) and not tensor.dtype.is_complex
    )


def check_gradients(batch: Batch, batched: tuple[bool, ...], _: Any = None) -> None:
    """Gradients inside of vmap (per example), and outside (through it)."""
    places = differentiable(batch)

    def loss(*tensors: Any) -> Any:
        return scalar_of(batch(*tensors))

    probe = [t.detach() for t in batch.example(0, batched)]
    for place in places:
        probe[place].requires_grad_()
    total = loss(*probe) if places else None
    if total is None or not total.requires_grad:
        return

    in_dims = tuple(0 if own else None for own in batched)
    per_example = grad(loss, argnums=places)
    expected = [per_example(*batch.example(i, batched)) for i in range(EXAMPLES)]
    stacked = batch.stacked(batched)
    inside = vmap(per_example, in_dims=in_dims)(*stacked)
    leaves = [t.detach().requires_grad_(index in places) for index, t in enumerate(stacked)]
    outside = autograd_grad(
        vmap(loss, in_dims=in_dims)(*leaves).sum(), [leaves[i] for i in places],
        allow_unused=True, materialize_grads=True,
    )  # fmt: skip
    for place, found, through, column in zip(
        places, inside, outside, zip(*expected, strict=True), strict=True
    ):
        compare(found, clew.stack(list(column)))
        together = clew.stack(list(column))
        compare(through, together if batched[place] else together.sum(0))
