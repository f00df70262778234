"""Writes to memory that is read: refused by both libraries, or allowed by both."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.twice import outcome, raised, twice


@twice
def test_out_that_shares_a_part_of_an_input(lib: Any) -> Any:
    seen: list[Any] = []
    for name in ("exp", "neg", "frac", "sigmoid", "cumsum", "add", "mul", "maximum", "pow", "eq"):
        for start in (0, 1, 4):
            memory = lib.ones(12)
            args = [memory[:4]] * (2 if name in ("add", "mul", "maximum", "pow", "eq") else 1)
            args += [0] if name == "cumsum" else []
            out = memory[start : start + 4]
            # The function is called before the loop goes on.
            seen.append(outcome(lambda: getattr(lib, name)(*args, out=out).shape))  # noqa: B023
    matrix = lib.ones(3, 3)
    memory = lib.ones(12)
    part, other = memory[:4], memory[1:5]
    return [
        *seen, raised(lib.exp, matrix, out=matrix.t()),
        raised(lib.addcmul, part, part, part, out=other),
        raised(lib.lerp, part, part, 0.5, out=other),
        raised(lib.where, part > 0, part, part, out=other),
        raised(lib.clamp, part, 0, 1, out=other), raised(lib.add, part, 1, alpha=2, out=other),
    ]  # fmt: skip


@twice
def test_indices_and_sources_in_the_tensor_itself(lib: Any) -> Any:
    index = lambda: lib.tensor([2, 1, 0])  # noqa: E731  # a new one each time
    y = lib.ones(6)
    seen = []
    for name in ("index_add_", "index_copy_", "scatter_", "scatter_add_"):
        own = index()
        seen += [
            raised(getattr(own, name), 0, own, own.clone()),
            raised(getattr(own, name), 0, own.clone(), own),
            raised(getattr(y, name), 0, own, y[:3]),
            raised(getattr(y, name), 0, own, y[:3].clone()),
        ]
    own = index()
    seen += [
        raised(own.put_, own, own.clone()), raised(own.put_, own.clone(), own),
        raised(y.put_, own, y[:3]), raised(own.index_put_, (own,), own.clone()),
        raised(y.index_put_, (own,), y[:3]), raised(own.index_fill_, 0, own, 1),
    ]  # fmt: skip
    mask = lib.tensor([True, False, True])
    return [*seen, raised(mask[1:].masked_fill_, mask[:-1], False), mask.masked_fill_(mask, False)]


@twice
def test_ranges_written_into_views(lib: Any) -> Any:
    seen = []
    for shape in ((8,), (2, 4), (2, 2, 2)):
        for make in (
            lambda out: lib.linspace(0, 1, 4, out=out),
            lambda out: lib.logspace(0, 1, 4, out=out),
            lambda out: lib.arange(4, out=out),
        ):
            memory = lib.full(shape, 7.0)
            make(memory[..., ::2])
            seen.append(memory)
    return seen


@twice
def test_a_tensor_without_elements_is_not_its_own_source(lib: Any) -> Any:
    none = lib.ones(0, dtype=lib.int64)
    x = lib.ones(0, 3)
    empty = lib.tensor([], dtype=lib.int64)
    return [
        raised(none.index_copy_, 0, empty, none), raised(none.index_copy_, 0, empty, none[:0]),
        raised(none.index_add_, 0, empty, none), raised(none.scatter_, 0, empty, none),
        raised(none.scatter_add_, 0, empty, none), raised(none.index_fill_, 0, none, 3),
        raised(none.put_, empty, none), raised(none.index_put_, (empty,), none, accumulate=True),
        raised(none.index_put_, (empty,), none), raised(none.masked_scatter_, none > 0, none),
        raised(x.index_copy_, 1, lib.tensor([2, 0]), x), raised(x.index_copy_, 5, none, x),
        raised(x.index_copy_, 0, lib.tensor([0.5]), x),
    ]  # fmt: skip


@twice
def test_memory_that_only_numpy_knows_to_be_the_same(lib: Any) -> Any:
    seen: list[Any] = []
    for write in (
        lambda x, y: x.index_copy_(0, lib.tensor([0, 1, 2, 3]), y),
        lambda x, y: x.index_put_((lib.tensor([1, 2]),), y[1:3]),
        lambda x, y: lib.cat([y], out=x),
        lambda x, y: lib.cumsum(y, 0, out=x),
    ):
        x = lib.arange(4.0)
        seen += [raised(write, x, lib.from_numpy(x.numpy())), x, x._version]
    return seen


@pytest.mark.parametrize("window", ["unfold(-1, 2, 1)", "unfold(0, 2, 1)", "unfold(0, 3, 2)"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bfloat16"])
def test_windows_that_overlap_are_written_one_after_the_other(window: str, dtype: str) -> None:
    changes = [
        "mul_(2)", "add_(1)", "sub_(1)", "add_(v.clone())", "add_(1, alpha=2)", "neg_()", "abs_()",
        "clamp_(2, 5)", "pow_(2)", "add_(part)", "mul_(True)", "fmod_(3)", "copy_(v * 2)",
        "fill_(3)", "add_(v)",
    ]  # fmt: skip

    def scenario(lib: Any) -> Any:
        seen: list[Any] = []
        for shape in ((6,), (3, 4), (4, 3)):
            for change in changes:
                x = lib.arange(1, 13)[: math.prod(shape)].reshape(shape).to(getattr(lib, dtype))
                whole = x.t() if shape == (4, 3) else x
                v = eval(f"whole.{window}", {"whole": whole})
                part = lib.ones(v.shape[-1])
                error = raised(eval, f"v.{change}", {"v": v, "part": part}, words=3)
                seen += [error, x, v._version]
        return seen

    twice(scenario)()


PLACES = {
    "index_fill_": lambda lib, x: x.index_fill_(0, lib.tensor([2, 0]), -1),
    "index_fill_ by a tensor": lambda lib, x: x.index_fill_(1, lib.tensor([1]), lib.tensor(7.0)),
    "assignment": lambda lib, x: x.__setitem__(lib.tensor([2, 0]), -1.0),
    "assignment by a mask": lambda lib, x: x.__setitem__(x == 2, -1.0),
    "masked_fill_": lambda lib, x: x.masked_fill_(x == 2, -1),
    "masked_scatter_": lambda lib, x: x.masked_scatter_(x == 2, lib.zeros(10)),
    "index_copy_": lambda lib, x: x.index_copy_(0, lib.tensor([2, 0]), lib.zeros(2, 2)),
    "index_add_": lambda lib, x: x.index_add_(0, lib.tensor([2, 0]), lib.ones(2, 2)),
    "index_add_ alpha": lambda lib, x: x.index_add_(1, lib.tensor([0]), lib.ones(5, 1), alpha=2),
    "scatter_reduce_": lambda lib, x: x.scatter_reduce_(
        0, lib.tensor([[2, 0]]), lib.full((1, 2), 3.0), "prod"
    ),
    "index_put_ accumulate": lambda lib, x: x.index_put_(
        (lib.tensor([2, 1]),), lib.ones(2, 2), accumulate=True
    ),
    "index_put_ accumulate by two": lambda lib, x: x.index_put_(
        (lib.tensor([2, 1]), lib.tensor([0, 1])), lib.ones(2), accumulate=True
    ),
    "scatter_": lambda lib, x: x.scatter_(0, lib.tensor([[2, 0], [1, 0]]), -1),
    "scatter_ a tensor": lambda lib, x: x.scatter_(0, lib.tensor([[2, 0]]), lib.zeros(1, 2)),
    "scatter_add_": lambda lib, x: x.scatter_add_(0, lib.tensor([[2, 0]]), lib.ones(1, 2)),
    "put_": lambda lib, x: x.put_(lib.tensor([4, 0]), lib.tensor([-1.0, -2.0])),
    "put_ accumulate": lambda lib, x: x.put_(
        lib.tensor([4, 3]), lib.tensor([-1.0, -2.0]), accumulate=True
    ),
    "lerp_": lambda lib, x: x.lerp_(x * 0, 0.5),
    "tril_": lambda lib, x: x.tril_(),
    "triu_": lambda lib, x: x.triu_(1),
}


@pytest.mark.parametrize("name", PLACES)
def test_only_chosen_places_of_memory_that_overlaps_are_written(name: str) -> None:
    """An element that is not chosen may lie where a chosen one does."""
    for dtype in ("float32", "int64", "bfloat16"):
        if dtype != "float32" and any(each in name for each in ("accumulate", "reduce", "lerp")):
            continue

        def scenario(lib: Any, dtype: str = dtype) -> Any:
            memory = lib.arange(6.0).to(getattr(lib, dtype))
            window = memory.unfold(0, 2, 1)
            outcome(lambda: PLACES[name](lib, window))
            floats = lib.arange(12.0)
            strided = floats.as_strided((5, 2), (2, 2))
            outcome(lambda: PLACES[name](lib, strided))
            return memory, floats

        twice(scenario)()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64", "complex64"])
def test_index_put_into_expanded_memory(dtype: str) -> None:
    def scenario(lib: Any) -> Any:
        seen: list[Any] = []
        for expand in (lambda x: x.expand(2, 6), lambda x: x.reshape(6, 1).expand(6, 2)):
            for accumulate in (True, False):
                for indices in ([0, 1], [1, 1], [0]):
                    memory = lib.arange(6.0).to(getattr(lib, dtype))
                    x = expand(memory)
                    x.index_put_((lib.tensor(indices),), x[0] * 2, accumulate=accumulate)
                    seen.append(memory)
        return seen

    twice(scenario)()


@twice
def test_index_put_of_values_in_the_memory_that_it_writes(lib: Any) -> Any:
    """Each value is read when it is written."""
    views = [
        lambda x: x[::2], lambda x: x[:, ::2], lambda x: x.unfold(0, 2, 1), lambda x: x[:, 1],
        lambda x: x.t()[1:, 1:], lambda x: x.unsqueeze(-1).unfold(1, 2, 1),
    ]  # fmt: skip
    values = [
        lambda x: x[0], lambda x: x[-1], lambda x: x[..., :1], lambda x: x[:1], lambda x: x,
        lambda x: x.select(-1, 0),
    ]  # fmt: skip
    rows = lambda: lib.tensor([1, 0, 0])  # noqa: E731  # a new one each time
    indices = [
        lambda x: (lib.tensor([0, 0]),), lambda x: (rows(),),
        lambda x: (lib.tensor([[0, 1], [0, 0]]),),
        lambda x: (lib.tensor([True] * x.shape[0]),),
        lambda x: (rows(), rows()),
    ]  # fmt: skip
    seen: list[Any] = []
    for view in views:
        for value in values:
            for index in indices:
                for accumulate in (True, False):
                    memory = lib.arange(12.0).reshape(4, 3) + 1
                    x = view(memory)
                    if len(index(x)) <= x.dim():
                        seen.append(raised(x.index_put_, index(x), value(x), accumulate, words=2))
                        seen.append(memory)
    return seen
