"""Checkpointing: same gradients, fewer saved tensors, and a clear word when a block changes."""

from __future__ import annotations

import gc
import warnings
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import clew
from clew.core.op import OPS
from clew.utils.checkpoint import (
    CheckpointError,
    checkpoint,
    checkpoint_sequential,
    set_checkpoint_early_stop,
)
from tests.twice import raised, twice, vector

REENTRANT = pytest.mark.parametrize("reentrant", [False, True])


def mlp(torch: Any, depth: int = 2, width: int = 3) -> tuple[list[Any], Any]:
    weights = [
        (torch.arange(width * width).double().reshape(width, width) * (0.1 + 0.05 * i) - 0.3)
        for i in range(depth)
    ]
    for w in weights:
        w.requires_grad_()

    def block(x: Any) -> Any:
        for w in weights[:-1]:
            x = torch.tanh(x @ w)
        return x @ weights[-1]

    return weights, block


@contextmanager
def counted(name: str) -> Iterator[list[int]]:
    """How often an operation's forward runs inside."""
    calls = [0]
    op = OPS[name]
    original = op.forward

    def forward(*args: Any, **kwargs: Any) -> Any:
        calls[0] += 1
        return original(*args, **kwargs)

    op.forward = forward
    try:
        yield calls
    finally:
        op.forward = original


# ---------------------------------------------------------------- same results as torch


@REENTRANT
def test_gradients(reentrant: bool) -> None:
    def scenario(torch: Any) -> Any:
        run = torch.utils.checkpoint.checkpoint
        weights, block = mlp(torch)
        x = vector(torch, 1.0, 2.0, 3.0)
        y = run(block, x, use_reentrant=reentrant)
        (y * y).sum().backward()
        return y, x.grad, [w.grad for w in weights], y.requires_grad

    twice(scenario)()


@REENTRANT
def test_two_blocks_and_several_outputs(reentrant: bool) -> None:
    def scenario(torch: Any) -> Any:
        run = torch.utils.checkpoint.checkpoint

        def two(x: Any, w: Any, factor: float, nothing: Any) -> Any:
            return x * w * factor, (x * x).exp(), None, "text"

        x, w = vector(torch, 0.5, 1.5), vector(torch, 2.0, 3.0)
        a, b, nothing, text = run(two, x, w, 2.0, None, use_reentrant=reentrant)
        c = run(lambda t: (t * t).sin(), a, use_reentrant=reentrant)
        (c.sum() + b.sum()).backward()
        return x.grad, w.grad, nothing, text

    twice(scenario)()


@REENTRANT
def test_random_numbers_are_repeated(reentrant: bool) -> None:
    def scenario(torch: Any) -> Any:
        run = torch.utils.checkpoint.checkpoint

        def noisy(x: Any) -> Any:
            y = x * torch.rand(3).double()
            y = torch.nn.functional.dropout(y, 0.5)
            return y * y

        torch.manual_seed(3)
        x = vector(torch, 1.0, 2.0, 3.0)
        y = run(noisy, x, use_reentrant=reentrant)
        before = torch.rand(2)
        y.sum().backward()
        after = torch.rand(2)
        torch.manual_seed(3)
        plain = vector(torch, 1.0, 2.0, 3.0)
        noisy(plain).sum().backward()
        return x.grad, plain.grad, before, after

    twice(scenario)()


@REENTRANT
def test_nested(reentrant: bool) -> None:
    def scenario(torch: Any) -> Any:
        run = torch.utils.checkpoint.checkpoint
        w = vector(torch, 0.3, 0.4)

        def inner(x: Any) -> Any:
            return (x * w).sin() * x

        def outer(x: Any) -> Any:
            return run(inner, run(inner, x.exp(), use_reentrant=reentrant), use_reentrant=reentrant)

        x = vector(torch, 0.5, 1.5)
        run(outer, x, use_reentrant=reentrant).sum().backward()
        return x.grad, w.grad

    twice(scenario)()


@REENTRANT
def test_sequential(reentrant: bool) -> None:
    def scenario(torch: Any) -> Any:
        steps = [torch.sin, torch.exp, lambda x: x * x, torch.tanh, torch.cos]
        results = []
        for segments in (1, 2, 3, 5):
            x = vector(torch, 0.5, 1.5)
            run = torch.utils.checkpoint.checkpoint_sequential
            y = run(steps, segments, x, use_reentrant=reentrant)
            y.sum().backward()
            results.append((y, x.grad))
        return results

    twice(scenario)()


@twice
def test_keyword_arguments(torch: Any) -> Any:
    run = torch.utils.checkpoint.checkpoint

    def block(x: Any, *, power: int, w: Any) -> Any:
        return x**power * w

    x, w = vector(torch, 2.0), vector(torch, 3.0)
    run(block, x, use_reentrant=False, power=3, w=w).backward()
    return x.grad, w.grad, raised(run, block, x, use_reentrant=True, power=3, w=w, words=3)


@twice
def test_inputs_without_grad(torch: Any) -> Any:
    run = torch.utils.checkpoint.checkpoint
    w = vector(torch, 2.0, 3.0)
    x = torch.ones(2).double()
    reentrant = run(lambda x: x * w, x, use_reentrant=True)
    plain = run(lambda x: x * w, x, use_reentrant=False)
    plain.sum().backward()
    return reentrant.requires_grad, plain.requires_grad, w.grad


@twice
def test_use_reentrant_must_be_given(torch: Any) -> Any:
    x = vector(torch, 1.0)
    run = torch.utils.checkpoint.checkpoint
    sequential = torch.utils.checkpoint.checkpoint_sequential
    return [
        raised(run, torch.sin, x, words=6) == "nothing raised",
        raised(sequential, [torch.sin, torch.cos], 2, x, words=6) == "nothing raised",
    ]


@twice
def test_autograd_grad(torch: Any) -> Any:
    run = torch.utils.checkpoint.checkpoint
    x = vector(torch, 1.0, 2.0)
    y = run(lambda x: (x * x).sin(), x, use_reentrant=False)
    found = torch.autograd.grad(y.sum(), x)
    again = run(lambda x: (x * x).sin(), x, use_reentrant=True)
    return [
        found,
        raised(torch.autograd.grad, again.sum(), x, words=8),
        raised(again.sum().backward, inputs=[x], words=8),
    ]


@twice
def test_double_backward(torch: Any) -> Any:
    run = torch.utils.checkpoint.checkpoint
    x = vector(torch, 0.5, 1.5)
    y = run(lambda x: (x**3).sin() * x, x, use_reentrant=False)
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    (g * g).sum().backward()
    return g.detach(), x.grad


@twice
def test_retained_graph(torch: Any) -> Any:
    run = torch.utils.checkpoint.checkpoint
    x = vector(torch, 0.5, 1.5)
    y = run(lambda x: (x * x).exp(), x, use_reentrant=False).sum()
    y.backward(retain_graph=True)
    y.backward()
    return x.grad, raised(y.backward, words=10)


@twice
def test_no_grad_runs_plainly(torch: Any) -> Any:
    run = torch.utils.checkpoint.checkpoint
    calls: list[int] = []

    def block(x: Any) -> Any:
        calls.append(1)
        return x * x

    with torch.no_grad():
        y = run(block, vector(torch, 2.0), use_reentrant=False)
        z = run(block, vector(torch, 2.0), use_reentrant=True)
    return y, z, len(calls)


@twice
def test_runs_of_the_block(torch: Any) -> Any:
    run = torch.utils.checkpoint.checkpoint
    counts = []
    for reentrant in (False, True):
        calls: list[bool] = []

        def block(x: Any, calls: Any = calls) -> Any:
            calls.append(torch.is_grad_enabled())
            return (x * x).exp()

        run(block, vector(torch, 2.0), use_reentrant=reentrant).backward()
        counts.append(calls)
    return counts


@twice
def test_context_fn(torch: Any) -> Any:
    run = torch.utils.checkpoint.checkpoint
    log: list[str] = []

    @contextmanager
    def named(name: str) -> Iterator[None]:
        log.append("enter " + name)
        yield
        log.append("exit " + name)

    x = vector(torch, 2.0)
    contexts = lambda: (named("forward"), named("recompute"))  # noqa: E731  # as users write it
    run(
        lambda x: (x * x).exp(), x, use_reentrant=False, context_fn=contexts, early_stop=False
    ).backward()
    refused = raised(run, torch.sin, x, use_reentrant=True, context_fn=contexts, words=2)
    return log, x.grad, refused


@twice
def test_errors_in_the_block_propagate(torch: Any) -> Any:
    run = torch.utils.checkpoint.checkpoint

    def fails(x: Any) -> Any:
        raise KeyError("inside")

    x = vector(torch, 1.0)
    errors = [raised(run, fails, x, use_reentrant=r) for r in (False, True)]
    return errors, (x * 2).requires_grad


@REENTRANT
def test_blocks_with_writes_views_and_functions(reentrant: bool) -> None:
    def scenario(torch: Any) -> Any:
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                (x,) = ctx.saved_tensors
                return g * 2 * x

        def block(x: Any, w: Any) -> Any:
            y = x * w
            y[:1].mul_(3)
            y += x.exp()
            return Square.apply(y).reshape(2, 1).t().softmax(1) * w

        x, w = vector(torch, 0.5, 1.5), vector(torch, 2.0, 3.0)
        run = torch.utils.checkpoint.checkpoint
        y = run(block, x, w, use_reentrant=reentrant)
        (y * y).sum().backward()
        plain = [vector(torch, 0.5, 1.5), vector(torch, 2.0, 3.0)]
        (block(*plain) ** 2).sum().backward()
        return y, x.grad, w.grad, [p.grad for p in plain]

    twice(scenario)()


@REENTRANT
def test_shared_input_and_output_used_twice(reentrant: bool) -> None:
    def scenario(torch: Any) -> Any:
        run = torch.utils.checkpoint.checkpoint
        x = vector(torch, 0.5, 1.5)
        hidden = x * 2
        a = run(lambda h: h.sin() * h, hidden, use_reentrant=reentrant)
        b = run(lambda h, a: h.cos() * a, hidden, a, use_reentrant=reentrant)
        (a * b + hidden).sum().backward()
        return x.grad

    twice(scenario)()


@twice
def test_different_metadata(torch: Any) -> Any:
    run = torch.utils.checkpoint.checkpoint
    state = {"calls": 0}

    def changes_shape(x: Any) -> Any:
        state["calls"] += 1
        return (x[: state["calls"]] ** 2).sum().exp() * x.sum()

    def changes_count(x: Any) -> Any:
        state["calls"] += 1
        return x.exp().exp() if state["calls"] == 1 else x.exp()

    errors = []
    for block in (changes_shape, changes_count):
        state["calls"] = 0
        y = run(block, vector(torch, 1.0, 2.0, 3.0), use_reentrant=False)
        errors.append(raised(y.sum().backward, words=5))
    return errors


# ---------------------------------------------------------------- what clew adds


def test_last_matmul_is_not_recomputed() -> None:
    weights, block = mlp(clew, depth=3)
    x = clew.ones(2, 3, dtype=clew.float64, requires_grad=True)
    with counted("mm") as calls:
        y = checkpoint(block, x, use_reentrant=False)
    assert calls == [3]
    with counted("mm") as calls:
        y.sum().backward()
    # Only operations of the block are counted: backward's own products are not operations.
    assert calls == [2]
    assert all(w.grad is not None for w in weights)


def test_without_early_stop_everything_runs_again() -> None:
    ran: list[str] = []

    def block(x: Any) -> Any:
        y = x.exp()
        ran.append("middle")
        y = y * y
        ran.append("end")
        return y + 1

    x = vector(clew, 1.0)
    with set_checkpoint_early_stop(False):
        y = checkpoint(block, x, use_reentrant=False)
    y.backward()
    assert ran == ["middle", "end"] * 2
    ran.clear()
    checkpoint(block, x, use_reentrant=False).backward()
    assert ran == ["middle", "end", "middle"]


def test_saved_tensors_are_dropped_and_recomputed_once() -> None:
    runs: list[int] = []

    def block(x: Any) -> Any:
        runs.append(1)
        return ((x * x).exp() * x).sin()

    x = vector(clew, 0.5)
    y = checkpoint(block, x, use_reentrant=False)
    assert len(runs) == 1
    y.backward()
    assert len(runs) == 2


def test_report_names_operation_and_line() -> None:
    calls = [0]

    def block(x: Any) -> Any:
        calls[0] += 1
        if calls[0] > 1:
            x = x[:2]
        return (x.sin() * 2).exp()  # the line that differs

    y = checkpoint(block, vector(clew, 1.0, 2.0, 3.0), use_reentrant=False)
    with pytest.raises(CheckpointError) as caught:
        y.sum().backward()
    text = str(caught.value)
    assert "`sin`" in text and "[3]" in text and "[2]" in text
    assert "the line that differs" in text and "test_checkpoint.py" in text


def test_report_names_a_different_operation_of_the_same_shape() -> None:
    calls = [0]

    def block(x: Any) -> Any:
        calls[0] += 1
        y = x.cos() if calls[0] > 1 else x.sin()
        return (y * y).exp()

    y = checkpoint(block, vector(clew, 1.0, 2.0), use_reentrant=False)
    with pytest.raises(CheckpointError, match=r"(?s)`sin`.*`cos`"):
        y.sum().backward()


def test_report_when_something_is_missing() -> None:
    calls = [0]

    def block(x: Any) -> Any:
        calls[0] += 1
        y = x.exp()
        return y.tanh() if calls[0] == 1 else y * 2

    y = checkpoint(block, vector(clew, 1.0), use_reentrant=False)
    with pytest.raises(CheckpointError, match=r"(?s)`tanh`.*return y\.tanh\(\)"):
        y.backward()


def test_random_numbers_without_preservation_differ() -> None:
    def block(x: Any) -> Any:
        return x * clew.rand(3, dtype=clew.float64)

    clew.manual_seed(0)
    x = vector(clew, 1.0, 1.0, 1.0)
    y = checkpoint(block, x, use_reentrant=False, preserve_rng_state=False)
    y.sum().backward()
    assert x.grad.tolist() != y.tolist()


def test_frames_are_freed_after_backward() -> None:
    x = vector(clew, 1.0)
    marker = clew.ones(1, dtype=clew.float64)
    alive = weakref.ref(marker)
    gc.disable()
    try:
        y = checkpoint(lambda x, m: (x * m).exp(), x, marker, use_reentrant=False)
        y.backward()
        del marker, y
        assert alive() is None
    finally:
        gc.enable()


def test_sequential_module_like_objects() -> None:
    class Steps:
        def children(self) -> Any:
            return iter([clew.sin, clew.exp])

    x = vector(clew, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        checkpoint_sequential(Steps(), 2, x, use_reentrant=False).backward()
    plain = vector(clew, 1.0)
    plain.sin().exp().backward()
    assert x.grad.tolist() == plain.grad.tolist()


@pytest.mark.parametrize("reentrant", [True, False])
def test_a_linear_layer_has_the_same_bits_in_a_checkpoint(reentrant: bool) -> None:
    layer, x = clew.nn.Linear(128, 64), clew.randn(64, 128, requires_grad=True)
    again = checkpoint(layer, x, use_reentrant=reentrant)
    assert clew.equal(layer(x), again)
