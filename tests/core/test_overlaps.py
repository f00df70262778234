"""Writes to memory that is read: refused by both libraries, or allowed by both."""

from __future__ import annotations

from typing import Any

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
