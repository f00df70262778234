"""Selective checkpointing: what a policy is asked, what is kept, and what it refuses."""

from __future__ import annotations

import functools
import gc
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import clew
from clew.core.op import OPS
from tests.twice import raised, twice


def leaf(torch: Any, *shape: int) -> Any:
    return torch.rand(*shape, dtype=torch.float64, requires_grad=True)


def checkpointed(torch: Any, function: Any, policy: Any, *args: Any, **options: Any) -> Any:
    module = torch.utils.checkpoint
    contexts = functools.partial(module.create_selective_checkpoint_contexts, policy, **options)
    return module.checkpoint(function, *args, use_reentrant=False, context_fn=contexts)


def layer(x: Any, w: Any) -> Any:
    return (x @ w).sin().mul(2).reshape(-1).exp()


@contextmanager
def counted(*names: str) -> Iterator[dict[str, int]]:
    """How often operations compute inside."""
    calls = dict.fromkeys(names, 0)
    originals = {name: OPS[name].forward for name in names}

    def counting(name: str, *args: Any, **kwargs: Any) -> Any:
        calls[name] += 1
        return originals[name](*args, **kwargs)

    for name in names:
        OPS[name].forward = functools.partial(counting, name)
    try:
        yield calls
    finally:
        for name in names:
            OPS[name].forward = originals[name]


@twice
def test_policies(torch: Any) -> Any:
    """Gradients under each policy; what it is asked, and that it is not asked again."""
    results = []
    for answer in (*torch.utils.checkpoint.CheckpointPolicy, True, False, None):
        asked: list[Any] = []

        def policy(
            context: Any, op: Any, *args: Any, asked: Any = asked, answer: Any = answer, **kw: Any
        ) -> Any:
            name = str(op).split(".")[1]
            asked.append((name, context.is_recompute, len(args) > 0))
            assert isinstance(context.op_output, torch.Tensor)
            return answer

        torch.manual_seed(0)
        x, w = leaf(torch, 2, 3), leaf(torch, 3, 2)
        y = checkpointed(torch, lambda x, w: (x @ w).sin().mul(2).exp(), policy, x, w)
        y.sum().backward()
        results.append((getattr(answer, "name", answer), asked, y, x.grad, w.grad))
    return results


@twice
def test_list_of_operations(torch: Any) -> Any:
    aten = torch.ops.aten
    x, w = leaf(torch, 2, 3), leaf(torch, 3, 2)
    results = []
    for ops in ([], [aten.mm.default], [aten.sin.default, aten.exp.default], [aten.mul.Tensor]):
        x.grad = w.grad = None
        y = checkpointed(torch, layer, ops, x, w)
        y.sum().backward()
        results.append((y, x.grad, w.grad))
    return results


@pytest.mark.parametrize("fill", [False, True])
def test_what_is_kept_is_not_computed_again(fill: bool) -> None:
    aten = clew.ops.aten
    weights = [leaf(clew, 4, 4) for _ in range(3)]

    def block(x: Any) -> Any:
        for w in weights:
            x = (x @ w).sin()
        return x.exp()

    x = leaf(clew, 4, 4)
    with counted("mm", "sin") as calls:
        y = checkpointed(clew, block, [aten.mm.default] if fill else [], x)
    assert calls == {"mm": 3, "sin": 3}
    with counted("mm", "sin") as calls:
        y.sum().backward()
    assert calls == {"mm": 0 if fill else 3, "sin": 3}
    found = [w.grad.clone() for w in weights]
    for w in weights:
        w.grad = None
    block(x).sum().backward()
    for w, g in zip(weights, found, strict=True):
        assert clew.allclose(w.grad, g)


@twice
def test_operations_with_several_outputs(torch: Any) -> Any:
    asked = [0]

    def policy(context: Any, op: Any, *args: Any, **kwargs: Any) -> Any:
        asked[0] += 1
        return torch.utils.checkpoint.CheckpointPolicy.MUST_SAVE

    def function(x: Any) -> Any:
        values, places = x.sort()
        a, b = x.split(2)
        return values.cos() * places + (a * b).sum()

    x = leaf(torch, 4)
    checkpointed(torch, function, policy, x).sum().backward()
    return x.grad


@twice
def test_overwritten_results(torch: Any) -> Any:
    def function(x: Any) -> Any:
        return x.sin().mul_(2).cos().exp()

    ops = [torch.ops.aten.sin.default]
    x = leaf(torch, 3)
    y = checkpointed(torch, function, ops, x)
    refused = raised(y.sum().backward, words=10)
    checkpointed(torch, function, ops, x, allow_cache_entry_mutation=True).sum().backward()
    return refused


@twice
def test_only_one_backward(torch: Any) -> Any:
    x, w = leaf(torch, 2, 3), leaf(torch, 3, 2)
    y = checkpointed(torch, layer, [torch.ops.aten.mm.default], x, w).sum()
    y.backward(retain_graph=True)
    return x.grad, raised(y.backward, words=20)


@twice
def test_blocks_that_change(torch: Any) -> Any:
    runs = [0]

    def repeats(x: Any) -> Any:
        runs[0] += 1
        y = x.sin()
        return (y.sin() if runs[0] == 2 else y).cos().exp()

    def differs(x: Any) -> Any:
        runs[0] += 1
        y = x.sin()
        return (y.tanh() if runs[0] == 2 else y).cos().exp()

    results = []
    for function in (repeats, differs):
        runs[0] = 0
        y = checkpointed(torch, function, [torch.ops.aten.sin.default], leaf(torch, 3))
        results.append(raised(y.sum().backward, words=20))
    return results


@twice
def test_arguments(torch: Any) -> Any:
    create = torch.utils.checkpoint.create_selective_checkpoint_contexts
    context = torch.utils.checkpoint.SelectiveCheckpointContext(is_recompute=True)
    packet = raised(create, [torch.ops.aten.sin], words=12)
    return [
        raised(create, 2, words=12),
        raised(create, (torch.ops.aten.sin.default,), words=12),
        raised(create, [2], words=12),
        packet,
        context.is_recompute,
        [(each.name, each.value) for each in torch.utils.checkpoint.CheckpointPolicy],
        torch.ops.aten.detach.default in torch.utils.checkpoint.SAC_IGNORED_OPS,
        [str(torch.ops.aten.mm.default), repr(torch.ops.aten.mm), torch.ops.aten.mm.default.name()],
    ]


def test_what_is_kept_is_freed() -> None:
    alive: list[Any] = []

    def policy(context: Any, op: Any, *args: Any, **kwargs: Any) -> Any:
        alive.append(weakref.ref(context.op_output._array))
        return True

    gc.collect()
    gc.disable()
    try:
        y = checkpointed(clew, lambda x: x.cos().exp().sin(), policy, leaf(clew, 3))
        del y
        assert [each() for each in alive] == [None] * 3
        alive.clear()
        y = checkpointed(clew, lambda x: x.cos().exp().sin().clone(), policy, leaf(clew, 3)).sum()
        assert alive[1]() is not None
        y.backward(retain_graph=True)
        assert alive[0]() is None and alive[1]() is None
    finally:
        gc.enable()


def test_inside_of_transforms() -> None:
    x = clew.rand(3, 4, dtype=clew.float64)
    names = [clew.ops.aten.sin.default]

    def function(row: Any) -> Any:
        return checkpointed(clew, lambda r: r.sin().exp(), names, row).sum()

    found = clew.func.vmap(clew.func.grad(function))(x)
    assert clew.allclose(found, x.cos() * x.sin().exp())
