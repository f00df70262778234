"""Native segments: what they compute, on which memory, and what they leave to Python."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clew
from clew import nn
from clew.compiler import program
from clew.compiler.native.layouts import Layout, core_dims, loops_over
from clew.compiler.native.segments import Segment
from clew.nn import functional as F

Step = Callable[..., Any]


def gradient_of(loss: Step) -> Step:
    """The loss and its gradient."""

    def step(x: clew.Tensor) -> Any:
        x = x.detach().requires_grad_()
        value = loss(x * 1.0)
        return value, *clew.autograd.grad(value, x)

    return step


TARGET = clew.tensor([3, 0, 31, 7, 7, 2, 9, 30])
IGNORING = clew.tensor([3, -100, 31, 7, -100, 2, 9, 30])
OTHER = clew.linspace(-3, 3, 8 * 32).reshape(8, 32)
WEIGHT, BIAS = clew.linspace(-1, 1, 32 * 32).reshape(32, 32), clew.linspace(0, 1, 32)
NORM = nn.LayerNorm(32)

ROW_NORM, IMAGE_NORM = nn.BatchNorm1d(32), nn.BatchNorm2d(4)


def attended(x: clew.Tensor, is_causal: bool) -> clew.Tensor:
    """Attention of two heads over eight places."""
    q, k, v = ((x * factor).reshape(1, 8, 2, 16).transpose(1, 2) for factor in (1, 2, 3))
    mixed = F.scaled_dot_product_attention(q, k, v, is_causal=is_causal)
    return (mixed.transpose(1, 2).reshape(8, 32) * OTHER).sum()


STEPS: dict[str, Step] = {
    "products": lambda x: (x @ WEIGHT, (x @ WEIGHT).T @ x, (x * 2).T @ x),
    "linear": lambda x: F.linear(F.linear(x, WEIGHT, BIAS), WEIGHT, BIAS).sin(),
    "sums": lambda x: ((x * 2).sum(0), (x * 2).sum(1, keepdim=True), (x * 2).sum(), x.sin().mean()),
    "sums of blocks": lambda x: tuple(
        (x * 2).reshape(4, 2, 8, 4).sum(dims)
        for dims in ((0,), (1, 2), (2, 3), (0, 1), (3,), (0, 2))
    ),
    "transposed": lambda x: ((x.T + 1) * x.T).sum(1) + (x.T.exp() @ x).sum(1),
    "broadcast": lambda x: (x.reshape(8, 1, 32) * x.reshape(8, 32, 1)).sin().sum(1) + x,
    "gather": gradient_of(lambda x: x.gather(1, TARGET.unsqueeze(1)).square().sum()),
    "cross entropy": gradient_of(lambda x: F.cross_entropy(x, TARGET)),
    "ignored classes": gradient_of(lambda x: F.cross_entropy(x, IGNORING)),
    "sum of losses": gradient_of(lambda x: F.cross_entropy(x, TARGET, reduction="sum")),
    "weighted classes": gradient_of(
        lambda x: F.cross_entropy(x, IGNORING, BIAS) + F.nll_loss(x, TARGET, BIAS, reduction="sum")
    ),
    "smoothed labels": gradient_of(lambda x: F.cross_entropy(x, IGNORING, label_smoothing=0.1)),
    "masks": lambda x: x * 2 * (
        ~((x * 2 > 0.5) & (x * 3 < 1)) | ((TARGET <= 7) & (TARGET != 2) | (TARGET > 29))[:, None]
    ),
    "a loss for each row": gradient_of(
        lambda x: (F.cross_entropy(x, IGNORING, reduction="none") * OTHER[:, 0]).sum()
    ),
    "weighted classes, of which one is ignored": gradient_of(
        lambda x: F.cross_entropy(x, TARGET, BIAS + 1, ignore_index=7)
    ),
    "smooth l1": gradient_of(lambda x: F.smooth_l1_loss(x, OTHER, beta=0.5)),
    "mse": gradient_of(lambda x: F.mse_loss(x, OTHER)),
    "softmax": gradient_of(lambda x: (F.softmax(x, 0) * OTHER + F.log_softmax(x, -1)).sum()),
    "layer norm": gradient_of(lambda x: (NORM(x) * OTHER).mean()),
    "binary cross entropy": gradient_of(
        lambda x: F.binary_cross_entropy(x.sigmoid(), OTHER.sigmoid(), reduction="sum")
    ),
    "mean of blocks": lambda x: (x * 2).reshape(4, 2, 8, 4).mean((1, 2)) + x.mean(),
    "long rows": lambda x: x.reshape(256, 1).expand(256, 1025).reshape(-1).sin().sum() * 1.0,
    "embedding": gradient_of(
        lambda x: (F.embedding(TARGET.reshape(2, 4), x.T) * OTHER.reshape(2, 4, -1)[..., :8]).sum()
    ),
    "joined": gradient_of(
        lambda x: (clew.cat([x, x.flip(0), x * 2], 1) * clew.cat([OTHER] * 3, -1)).sum()
    ),
    "selected": gradient_of(lambda x: x.reshape(4, 2, 32)[:, -1].square().sum()),
    "attention": gradient_of(lambda x: attended(x, False)),
    "causal attention": gradient_of(lambda x: attended(x, True)),
    "batch norm of rows": gradient_of(lambda x: (ROW_NORM(x) * OTHER).mean()),
    "batch norm of images": gradient_of(
        lambda x: (IMAGE_NORM(x.reshape(2, 4, 4, 8)) * OTHER.reshape(2, 4, 4, 8)).mean()
    ),
}  # fmt: skip


def segments(compiled: Any) -> list[Segment]:
    """The native segments of all that a function has compiled."""
    programs = [event.trace.program for event in compiled.events if event.trace is not None]
    return [item for each in programs for item in each.items if isinstance(item, Segment)]


def assert_same(found: Any, right: Any) -> None:
    """But for rounding: a fused kernel may round once where eager rounds twice."""
    clew.testing.assert_close(found, right, rtol=1e-5, atol=1e-5)


def bits(results: Any) -> list[bytes]:
    found = results if isinstance(results, tuple) else (results,)
    return [each.detach().numpy().tobytes() for each in found]


@pytest.mark.parametrize("name", STEPS)
def test_a_segment_computes_what_eager_computes(name: str) -> None:
    step = STEPS[name]
    compiled = clew.compile(step)
    for seed in range(3):
        clew.manual_seed(seed)
        x = clew.randn(8, 32)
        assert_same(compiled(x), step(x))
    assert segments(compiled)


class Poisoned:
    """NumPy with memory as it may be where nobody has written to it yet."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def empty(self, shape: Any, dtype: np.dtype) -> np.ndarray:
        array = np.empty(shape, dtype)
        array.reshape(-1).view(np.uint8).fill(0xFF)
        return array


def test_no_memory_is_read_before_it_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several segments, with Python between them, that share what they compute."""
    model = nn.Sequential(nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 32), nn.ReLU())
    chosen = TARGET.unsqueeze(1)

    def step(x: clew.Tensor) -> Any:
        model.zero_grad()
        out = model(x)
        # Sorting has no native form.
        loss = (out.gather(1, chosen).sort(0)[0] * out).square().mean() + out.cumsum(1).mean()
        loss.backward()
        return [loss, *[each.grad for each in model.parameters()]]

    expected = step(OTHER)
    monkeypatch.setattr(program, "np", Poisoned())
    compiled = clew.compile(step)
    for _ in range(3):
        assert_same(compiled(OTHER), expected)
    assert len(segments(compiled)) > 1


def test_a_whole_train_step_is_one_segment() -> None:
    model = nn.Sequential(nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 32))
    optimizer = clew.optim.Adam(model.parameters())

    def step(x: clew.Tensor) -> clew.Tensor:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), TARGET)
        loss.backward()
        optimizer.step()
        return loss

    compiled = clew.compile(step)
    for _ in range(3):
        compiled(OTHER)
    (segment,) = segments(compiled)
    assert len(segment.calls) > 12


def test_a_class_that_does_not_exist_raises_as_it_does_eagerly() -> None:
    model = nn.Linear(32, 4)
    target = clew.tensor([0, 1, 2, 3, 0, 1, 2, 3])

    def step(x: clew.Tensor) -> clew.Tensor:
        model.zero_grad()
        loss = F.cross_entropy(model(x), target)
        loss.backward()
        return loss

    compiled = clew.compile(step)
    for _ in range(3):
        compiled(OTHER)
    assert segments(compiled)
    before = model.weight.detach().clone()
    for wrong in (4, -1, 2**32 + 1):
        target[2] = wrong
        with pytest.raises(IndexError, match=f"Target {wrong} is out of bounds"):
            compiled(OTHER)
        assert model.weight.grad is None and clew.equal(model.weight, before)
    target[2] = 2
    assert_same(compiled(OTHER), step(OTHER))


def test_an_index_out_of_bounds_raises_as_it_does_eagerly() -> None:
    index = TARGET.clone().unsqueeze(1)
    compiled = clew.compile(lambda x: (x * 2).gather(1, index) + 1)
    for _ in range(3):
        compiled(OTHER)
    assert segments(compiled)
    for wrong in (32, -1, 2**32):
        index[3] = wrong
        with pytest.raises(RuntimeError, match=f"index {wrong} is out of bounds for dimension 1"):
            compiled(OTHER)


def test_rows_that_a_table_does_not_have_raise_as_they_do_eagerly() -> None:
    table, head = nn.Embedding(10, 4), nn.Linear(4, 3)
    parameters = [*table.parameters(), *head.parameters()]
    optimizer = clew.optim.Adam(parameters)
    index, target = clew.tensor([1, 5, 5, 9]), clew.tensor([0, 1, 2, 0])

    def step() -> clew.Tensor:
        optimizer.zero_grad()
        loss = F.cross_entropy(head(table(index)), target)
        loss.backward()
        optimizer.step()
        return loss

    compiled = clew.compile(step)
    for _ in range(3):
        compiled()
    (event,) = compiled.events
    assert "embedding" not in str(event.trace.program_with_steps.items)
    before = [each.detach().clone() for each in parameters]
    for wrong in (10, -1, 2**40):
        index[2] = wrong
        with pytest.raises(IndexError, match="index out of range in self"):
            compiled()
        assert all(each.grad is None for each in parameters)
        assert all(clew.equal(a, b) for a, b in zip(parameters, before, strict=True))
    index[2] = 5
    assert compiled().isfinite()


def test_statistics_of_batches_are_kept_by_segments() -> None:
    def run(wrap: Any) -> list[clew.Tensor]:
        clew.manual_seed(0)
        norm = nn.BatchNorm1d(32, momentum=0.3)
        step = wrap(lambda x: (norm(x) * 2).sum().backward())
        for _ in range(4):
            norm.zero_grad()
            step(clew.randn(8, 32))
        return [*norm.state_dict().values(), norm.weight.grad]

    compiled: list[Any] = []
    found = run(lambda step: compiled.append(clew.compile(step)) or compiled[0])
    assert_same(found, run(lambda step: step))
    (event,) = compiled[0].events
    assert not [each for each in event.trace.program.items if getattr(each, "kind", "") == "write"]


def test_other_writes_are_made_by_python() -> None:
    def write(x: clew.Tensor) -> clew.Tensor:
        total = x * 2
        total.add_(x, alpha=3.0)
        total.add_(1.5)
        count = clew.zeros(2, dtype=clew.int64)
        count.add_(3)
        return total + count.sum()

    compiled = clew.compile(write)
    for _ in range(3):
        assert_same(compiled(OTHER), write(OTHER))
    assert [event.problem for event in compiled.events] == [None]


def test_a_gradient_from_outside_may_lie_in_memory_in_any_order() -> None:
    model = nn.Linear(32, 32)
    compiled = clew.compile(model)
    compiled(OTHER)
    weights = (clew.ones(8, 32), clew.randn(32, 8).T, clew.ones(1, 1).expand(8, 32))
    for weight in weights:
        found = [
            clew.autograd.grad(each(OTHER), list(model.parameters()), weight)
            for each in (compiled, model)
        ]
        assert_same(found[0], found[1])


def test_threads_may_run_one_segment_at_once() -> None:
    step = STEPS["linear"]
    compiled = clew.compile(step)
    inputs = [clew.randn(8, 32) for _ in range(8)]
    compiled(inputs[0]), compiled(inputs[0])
    right = [bits(compiled(each)) for each in inputs]
    wrong: list[int] = []

    def work(number: int) -> None:
        for _ in range(200):
            if bits(compiled(inputs[number])) != right[number]:
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(60)
    assert not wrong and not any(each.is_alive() for each in threads)


def test_memory_of_an_arena_is_used_again() -> None:
    def step(x: clew.Tensor) -> clew.Tensor:
        for _ in range(20):
            x = (x @ WEIGHT).tanh()
        return x

    compiled = clew.compile(step)
    compiled(OTHER), compiled(OTHER)
    (segment,) = segments(compiled)
    assert segment.arena_size <= 3 * OTHER.nbytes


def layout(shape: tuple[int, ...], strides: tuple[int, ...]) -> Layout:
    return Layout(None, 0, shape, strides, np.dtype(np.float32))


def test_loops_that_are_one_in_memory_are_one() -> None:
    whole = layout((4, 5, 6), (120, 24, 4))
    assert loops_over(None, [whole, whole]) == ((120,), (4, 4), ())
    row = layout((6,), (4,))
    assert loops_over(None, [whole, row, whole]) == ((6,), (4, 4, 4), ((20, (24, 0, 24)),))
    permuted = whole.permuted((2, 0, 1))
    assert loops_over(None, [permuted, permuted]) == ((6,), (4, 4), ((20, (24, 24)),))
    assert core_dims("(m,k),(k,n)->(m,n)", 3) == [("m", "k"), ("k", "n"), ("m", "n")]
    loops = loops_over("(n)->()", [whole, layout((4, 5), (20, 4))])
    assert loops == ((20, 6), (24, 4, 4), ())
