"""Checkpointed blocks in blocks, with gradients inside of them, and the options of `checkpoint`."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import pytest

import clew
from tests.twice import raised, twice

EARLY_STOP = pytest.mark.parametrize("early_stop", [True, False])


def leaf(torch: Any, *values: float) -> Any:
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


def block(torch: Any, function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """A function that runs checkpointed."""

    def run(*args: Any, **kwargs: Any) -> Any:
        return torch.utils.checkpoint.checkpoint(
            function, *args, use_reentrant=False, **options, **kwargs
        )

    return run


def slope(torch: Any, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The gradient of a function, with a graph of its own."""

    def run(x: Any) -> Any:
        (found,) = torch.autograd.grad(function(x).sum(), x, create_graph=True)
        return found

    return run


@contextmanager
def no_collection() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


# ---------------------------------------------------------------- blocks in blocks


@EARLY_STOP
def test_runs_of_nested_blocks(early_stop: bool) -> None:
    def scenario(torch: Any) -> Any:
        runs: list[str] = []

        def inner(h: Any) -> Any:
            runs.append("inner")
            return h.sin().exp()

        def outer(x: Any) -> Any:
            runs.append("outer begins")
            h = block(torch, inner)(x * 2)
            runs.append("between")
            h = block(torch, inner)(h)
            runs.append("outer ends")
            return h * 1

        x = leaf(torch, 1.0, 2.0)
        with torch.utils.checkpoint.set_checkpoint_early_stop(early_stop):
            y = block(torch, outer)(x)
        y.sum().backward(retain_graph=True)
        y.sum().backward()
        return runs, x.grad

    twice(scenario)()


@EARLY_STOP
def test_gradients_in_blocks(early_stop: bool) -> None:
    def scenario(torch: Any) -> Any:
        def chain(x: Any) -> Any:
            return x.sin().exp().sin()

        def with_gradients(x: Any) -> Any:
            a, b = chain(x), chain(x)
            torch.autograd.grad(a.sum(), x)
            torch.autograd.grad(b.sum(), x)
            return x.sin()

        runs = []

        def c(function: Any) -> Any:
            def counted(x: Any) -> Any:
                runs.append(1)
                return function(x)

            return block(torch, counted, early_stop=early_stop)

        def g(function: Any) -> Any:
            return slope(torch, function)

        results = []
        for f in (chain, with_gradients):
            for program in (
                c(f), c(c(f)), g(c(f)), g(c(c(f))), g(c(g(f))), c(g(g(c(f)))), g(c(g(c(f)))),
                g(c(g(g(c(f))))), g(c(g(c(g(c(f)))))),
            ):  # fmt: skip
                runs.clear()
                results.append((program(leaf(torch, 0.3, 0.7)).detach(), len(runs)))
        return results

    twice(scenario)()


@EARLY_STOP
def test_graphs_of_nested_blocks_die(early_stop: bool) -> None:
    def chain(x: Any) -> Any:
        return x.sin().exp().sin()

    def c(function: Any) -> Any:
        return block(clew, function, early_stop=early_stop)

    def g(function: Any) -> Any:
        return slope(clew, function)

    class Marker:
        pass

    for program in (c(c(chain)), g(c(chain)), g(c(g(c(chain)))), c(g(g(c(chain))))):
        with no_collection():
            marker = Marker()
            alive = weakref.ref(marker)
            out = program(leaf(clew, 0.3))
            out.grad_fn.metadata["marker"] = marker
            out.backward()
            del marker, out
            assert alive() is None


@twice
def test_inputs_of_inner_blocks_are_freed(torch: Any) -> Any:
    alive: list[Any] = []

    def outer(x: Any) -> Any:
        h = x * 2
        alive.append(weakref.ref(h))
        return block(torch, lambda h: h.sin().exp())(h) * 1

    x = leaf(torch, 1.0, 2.0)
    with no_collection():
        y = block(torch, outer)(x)
        freed = alive[0]() is None
    y.sum().backward()
    return freed, x.grad


def test_a_last_operation_without_history_is_not_taken_for_the_one_that_saves() -> None:
    x, w = leaf(clew, 0.5, 1.5), leaf(clew, 2.0, 3.0)

    def careful(x: Any, w: Any) -> Any:
        y = x.exp()
        with clew.no_grad():
            x * w
        with clew.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            x * w
        return y * w

    block(clew, careful)(x, w).sum().backward()
    plain = leaf(clew, 0.5, 1.5), leaf(clew, 2.0, 3.0)
    careful(*plain).sum().backward()
    assert [x.grad.tolist(), w.grad.tolist()] == [each.grad.tolist() for each in plain]


# ---------------------------------------------------------------- what a block is given


@twice
def test_overwritten_inputs(torch: Any) -> Any:
    def mutated_after(h: Any, w: Any) -> None:
        y = block(torch, lambda h, w: (h * w).sin())(h, w)
        with torch.no_grad():
            h.mul_(2)
        y.sum().backward()

    def mutated_inside(h: Any, w: Any) -> None:
        def writes(h: Any, w: Any) -> Any:
            h.mul_(2)
            return (h * w).sin()

        block(torch, writes)(h, w).sum().backward()

    w = leaf(torch, 3.0, 4.0)
    plain = torch.ones(2, dtype=torch.float64)
    by_keyword = block(torch, lambda w, h: (h * w).sin())(w, h=plain)
    plain.mul_(2)
    by_keyword.sum().backward()
    return [
        raised(mutated_after, leaf(torch, 1.0, 2.0) * 1, w, words=24),
        raised(mutated_after, torch.ones(2, dtype=torch.float64), w, words=24),
        raised(mutated_inside, leaf(torch, 1.0, 2.0) * 1, w, words=24),
        w.grad,
    ]


def test_overwritten_inputs_are_named() -> None:
    h = leaf(clew, 1.0, 2.0) * 1
    y = block(clew, lambda h: h.sin().exp())(h)
    with clew.no_grad():
        h.mul_(2)
    with pytest.raises(RuntimeError, match=r"(?s)saved as `args\[0\]` by checkpoint.*`mul_`"):
        y.sum().backward()


@twice
def test_identity_of_arguments_and_saved_tensors(torch: Any) -> Any:
    seen: list[Any] = []
    leaves = leaf(torch, 1.0)
    given = (
        leaves, torch.ones(1, dtype=torch.float64), leaves * 2, (leaves * 3).detach(),
        torch.ones(1).int(), (leaves * 2)[:1],
    )  # fmt: skip

    class Saves(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *tensors: Any) -> Any:
            ctx.save_for_backward(*tensors)
            return tensors[0] * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            seen.append([a is b for a, b in zip(ctx.saved_tensors, given, strict=True)])
            return g, *[None] * (len(given) - 1)

    def records(*tensors: Any) -> Any:
        seen.append([a is b for a, b in zip(tensors, given, strict=True)])
        return Saves.apply(*tensors)

    Saves.apply(*given).backward(retain_graph=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        y = Saves.apply(*given)
    y.backward(retain_graph=True)
    block(torch, records)(*given).backward()
    return seen


def test_saved_outputs_of_functions_die() -> None:
    alive: list[Any] = []

    class Saves(clew.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = x.clone()
            ctx.save_for_backward(y)
            alive.append(weakref.ref(y))
            return y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            assert len(ctx.saved_tensors) == 1
            return g

    with no_collection():
        block(clew, Saves.apply)(leaf(clew, 1.0)).backward()
        assert len(alive) == 2 and all(each() is None for each in alive)


@twice
def test_inference_tensors_are_refused(torch: Any) -> Any:
    with torch.inference_mode():
        made = torch.ones(1, dtype=torch.float64)
    run = block(torch, lambda x, w: (x * 1).sin())
    return raised(run, leaf(torch, 1.0), made, words=12)


# ---------------------------------------------------------------- options


@twice
def test_early_stop(torch: Any) -> Any:
    stop = torch.utils.checkpoint.set_checkpoint_early_stop
    runs: list[int] = []

    def function(x: Any) -> Any:
        y = x.sin().cos()
        runs.append(1)
        return y.clone()

    results = []
    for own in (True, False):
        for contexts in ((), (True,), (False,), (False, True), (True, False)):
            runs.clear()
            opened = [stop(each) for each in contexts]
            for each in opened:
                each.__enter__()
            y = block(torch, function, early_stop=own)(leaf(torch, 1.0))
            for each in reversed(opened):
                each.__exit__(None, None, None)
            y.backward()
            results.append((own, contexts, len(runs)))
    return results


@twice
def test_blocks_that_change(torch: Any) -> Any:
    runs = [0]

    def shape(x: Any) -> Any:
        runs[0] += 1
        return (x[: runs[0]] ** 2).sum().exp() * x.sum()

    def dtype(x: Any) -> Any:
        runs[0] += 1
        return (x.sin() if runs[0] == 1 else x.float().sin()).exp()

    def fewer(x: Any) -> Any:
        runs[0] += 1
        return x.exp().exp() if runs[0] == 1 else x.exp()

    def more(x: Any) -> Any:
        runs[0] += 1
        return x.exp() if runs[0] == 1 else x.exp().exp()

    def lines(function: Any, **options: Any) -> Any:
        runs[0] = 0
        y = block(torch, function, **options)(leaf(torch, 0.1, 0.2, 0.3))
        try:
            y.sum().backward()
        except torch.utils.checkpoint.CheckpointError as error:
            text = str(error)
            kept = [
                line
                for line in text.split("\n")
                if line.startswith(("torch.utils", "tensor at", "saved", "recomputed", "Number"))
            ]
            debug = "You are seeing this error because you passed `debug=True` to checkpoint"
            return kept[-1] if debug in text else kept, text[:60]
        return "nothing raised"

    return [
        lines(function, **options)
        for function in (shape, dtype, fewer, more)
        for options in ({}, {"determinism_check": "none"}, {"early_stop": False})
    ]


def test_debug_lists_the_operations_of_both_runs() -> None:
    enabled = clew.utils.checkpoint.set_checkpoint_debug_enabled

    def error(context: Any, **options: Any) -> str:
        runs = [0]

        def changes(x: Any) -> Any:
            runs[0] += 1
            y = x.sin() if runs[0] == 1 else x.exp().tanh()
            return y.cos()

        with context:
            y = block(clew, changes, **options)(leaf(clew, 0.1))
        with pytest.raises(clew.utils.checkpoint.CheckpointError) as caught:
            y.backward()
        return str(caught.value)

    for text in (error(nullcontext(), debug=True), error(enabled(True), debug=False)):
        assert text.startswith(" An error happened while unpacking tensors; dumping logs")
        assert "You are seeing this error because you passed `debug=True` to checkpoint" in text
        first, second = text.split("2. The operators that ran during recomputation")
        assert "1 of 2: `sin`" in first and "2 of 2: `cos`" in first and "`exp`" not in first
        assert "`exp`" in second and "test_checkpoint_nested.py" in second
    for text in (error(nullcontext()), error(enabled(False), debug=True)):
        assert text.startswith("torch.utils.checkpoint: Recomputed values")


@twice
def test_arguments(torch: Any) -> Any:
    sequential = torch.utils.checkpoint.checkpoint_sequential
    x = leaf(torch, 1.0)
    steps = [torch.sin, torch.cos]
    return [
        raised(block(torch, torch.sin, determinism_check="some"), x, words=10),
        raised(block(torch, torch.sin, context_fn=lambda: 1), x, words=3),
        raised(sequential, steps, 0, x, use_reentrant=False),
        raised(sequential, steps, 5, x, use_reentrant=False),
        raised(sequential, steps, 2, x, use_reentrant=False, other=1),
        sorted(torch.utils.checkpoint.__all__),
    ]


@twice
def test_contexts(torch: Any) -> Any:
    log: list[Any] = []

    @contextmanager
    def named(name: str) -> Iterator[None]:
        log.append(("enter", name))
        try:
            yield
        finally:
            log.append(("exit", name))

    def hooks(name: str) -> Any:
        def note(what: str) -> Any:
            return lambda tensor: (log.append((what, name)), tensor)[1]

        return torch.autograd.graph.saved_tensors_hooks(note("pack"), note("unpack"))

    class Suppresses:
        def __enter__(self) -> None:
            log.append("enter")

        def __exit__(self, kind: Any, *rest: Any) -> bool:
            log.append(None if kind is None else kind.__name__)
            return True

    def fails(x: Any) -> Any:
        raise ValueError("the block failed")

    x = leaf(torch, 1.0)
    names = lambda: (named("forward"), named("recompute"))  # noqa: E731  # as users write it
    block(torch, lambda x: x.sin().exp(), context_fn=names)(x).backward()
    with torch.no_grad():
        block(torch, lambda x: x.sin().exp(), context_fn=names)(x)
    block(torch, lambda x: x.sin().exp(), context_fn=lambda: (hooks("a"), hooks("b")))(x).backward()
    with hooks("outer"):
        y = block(torch, lambda x, w, n: (x.sin() * w).exp())(x, x.detach(), 3)
    y.backward()
    refused = raised(
        block(torch, fails, context_fn=lambda: (Suppresses(), nullcontext())), x, words=12
    )
    return log, refused


@twice
def test_saved_tensors_are_unpacked_once(torch: Any) -> Any:
    errors = []

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            errors.append([len(ctx.saved_tensors)])
            errors.append(raised(lambda: ctx.saved_tensors, words=16))
            return g * 2

    y = block(torch, lambda x: Twice.apply(x * x))(leaf(torch, 1.0))
    y.backward(retain_graph=True)
    y.backward()
    # Outside of backward each look runs the block again.
    out = block(torch, lambda x: x.sin().exp())(leaf(torch, 1.0))
    return errors, [out.grad_fn._saved_result.detach() for _ in range(2)]


@twice
def test_groups_of_backward_passes(torch: Any) -> Any:
    group = torch.utils.checkpoint.GraphExecGroup
    counts = []
    for context in (nullcontext, group):
        runs: list[int] = []

        def function(x: Any, runs: Any = runs) -> Any:
            runs.append(1)
            y = x.sin().cos()
            return y, y.sin().cos()

        x = leaf(torch, 0.5)
        y, z = block(torch, function)(x)
        with context():
            (g,) = torch.autograd.grad(z, y)
            found = torch.autograd.grad(y, x, g)
        counts.append((len(runs), found))
    out = block(torch, lambda x: x.sin().cos())(leaf(torch, 0.5))
    with group():
        out.backward(retain_graph=True)
        overlap = raised(out.backward, words=20)
        nested = raised(group().__enter__, words=7)
    return counts, overlap, nested
