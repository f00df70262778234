"""`clew.memory_summary`: what is held for backward, compared with what memory was taken."""

from __future__ import annotations

import gc
import tracemalloc
from typing import Any

import pytest

import clew
from clew.memory import MemorySummary

F = clew.nn.functional


def grown(run: Any) -> tuple[int, Any]:
    """How many bytes more are in use after a call, and what it returned."""
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        result = run()
        gc.collect()
        return tracemalloc.get_traced_memory()[0] - before, result
    finally:
        tracemalloc.stop()


def perceptron(shape: Any) -> Any:
    model = clew.nn.Sequential(
        clew.nn.Linear(64, 512), clew.nn.GELU(), clew.nn.LayerNorm(512), clew.nn.Linear(512, 256),
        clew.nn.Tanh(), clew.nn.Dropout(0.5), clew.nn.Linear(256, 16),
    )  # fmt: skip
    return lambda: model(clew.ones(*shape)).pow(2).mean()


def convolutions(shape: Any) -> Any:
    model = clew.nn.Sequential(
        clew.nn.Conv2d(3, 16, 3, padding=1), clew.nn.BatchNorm2d(16), clew.nn.ReLU(),
        clew.nn.MaxPool2d(2), clew.nn.Conv2d(16, 32, 3), clew.nn.ReLU(), clew.nn.Flatten(),
    )  # fmt: skip
    return lambda: model(clew.ones(*shape)).logsumexp(1).sum()


def attention(shape: Any) -> Any:
    model = clew.nn.TransformerEncoderLayer(64, 4, 256, batch_first=True)
    return lambda: model(clew.ones(*shape)).sum()


@pytest.mark.parametrize(
    ("build", "shape"),
    [(perceptron, (256, 64)), (convolutions, (8, 3, 32, 32)), (attention, (8, 32, 64))],
)
def test_the_sum_is_the_measured_growth(build: Any, shape: tuple[int, ...]) -> None:
    run = build(shape)
    run()
    growth, loss = grown(run)
    summary = clew.memory_summary(loss)
    assert growth > 500_000, "large enough for small objects not to matter"
    assert abs(summary.total - growth) < 0.05 * growth, f"{growth} bytes\n{summary}"


def test_rows_name_operation_line_and_module() -> None:
    class Net(clew.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = clew.nn.Linear(10, 100)

        def forward(self, x: Any) -> Any:
            return self.inner(x).sigmoid()

    net = Net()
    loss = net(clew.ones(50, 10)).exp().sum()
    summary = clew.memory_summary(loss)
    by_op = {row.op: row for row in summary.rows}
    assert by_op["Sigmoid"].bytes == by_op["Exp"].bytes == 50 * 100 * 4
    assert by_op["Addmm"].bytes == summary.inputs == 50 * 10 * 4
    assert by_op["Addmm"].module == "inner"
    assert "test_memory_summary.py" in by_op["Sigmoid"].line
    assert by_op["Exp"].largest == "float32 [50, 100]"
    assert summary.total == sum(row.bytes for row in summary.rows)
    assert [row.bytes for row in summary.rows] == sorted(r.bytes for r in summary.rows)[::-1]


def test_parameters_are_counted_apart_and_only_if_needed() -> None:
    w = clew.randn(100, 100, requires_grad=True)
    x = clew.randn(4, 100)
    assert clew.memory_summary((x @ w).sum()).parameters == 0
    hidden = (x @ w) @ w.t()
    summary = clew.memory_summary(hidden)
    assert summary.parameters == 100 * 100 * 4
    assert summary.total == 2 * 4 * 100 * 4


def test_memory_that_two_nodes_hold_counts_once() -> None:
    x = clew.randn(1000, requires_grad=True)
    y = x.exp()
    assert clew.memory_summary(y.sin() + y * y).total == 4000
    assert clew.memory_summary(y.sin(), y.cos()).total == 4000


def test_a_view_holds_the_whole_memory() -> None:
    x = clew.randn(10, requires_grad=True)
    y = (x.expand(1000, 10) * 2)[0]
    assert clew.memory_summary((y * y).sum()).total == 1000 * 10 * 4


def test_nothing_is_left_after_backward() -> None:
    loss = clew.randn(1000, requires_grad=True).exp().sum()
    assert clew.memory_summary(loss).total == 4000
    loss.backward()
    summary = clew.memory_summary(loss)
    assert summary.total == 0
    assert str(summary).startswith("Nothing is held for backward.")


def test_custom_functions() -> None:
    class Keeps(clew.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x * 2)
            ctx.more = [clew.ones(500)]
            return x.clone()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    y = Keeps.apply(clew.randn(1000, requires_grad=True))
    summary = clew.memory_summary(y)
    assert summary.total == 4000 + 2000
    assert summary.rows[0].op == "Keeps"


def test_checkpointed_blocks_hold_only_their_inputs() -> None:
    x = clew.randn(1000, requires_grad=True)

    def block(value: Any) -> Any:
        return value.exp().sin().cos()

    assert clew.memory_summary(block(x)).total == 2 * 4000
    y = clew.utils.checkpoint.checkpoint(block, x, use_reentrant=False)
    assert clew.memory_summary(y).total == 0


def test_packed_tensors_count_as_what_they_are_packed_to() -> None:
    x = clew.randn(1000, requires_grad=True)
    with clew.autograd.graph.saved_tensors_hooks(lambda t: t.half(), lambda t: t.float()):
        y = x.exp()
    assert clew.memory_summary(y).total == 2000


def test_all_graphs_that_are_alive() -> None:
    before = clew.memory_summary().total
    kept = [clew.randn(10_000, requires_grad=True).exp() for _ in range(3)]
    assert clew.memory_summary().total - before == 3 * 40_000
    del kept
    assert clew.memory_summary().total == before


def test_what_is_printed() -> None:
    x = clew.randn(1 << 20, requires_grad=True)
    summary = clew.memory_summary(x.exp())
    text = str(summary)
    assert isinstance(summary, MemorySummary)
    assert repr(summary) == text
    assert text.splitlines()[0].split() == [
        "Memory", "Share", "Tensors", "Operation", "Line", "Module", "Largest",
    ]  # fmt: skip
    assert text.splitlines()[2].split()[:5] == ["4.0", "MiB", "100.0%", "1", "Exp"]
    assert "Held for backward: 4.0 MiB in 1 tensors" in text


def test_refused_roots() -> None:
    with pytest.raises(RuntimeError, match="does not require grad and does not have a grad_fn"):
        clew.memory_summary(clew.ones(2))
    with pytest.raises(TypeError, match="expected tensors"):
        clew.memory_summary([clew.ones(2)])  # that is the mistake


def test_cuda_holds_nothing() -> None:
    cuda = clew.cuda
    assert cuda.memory_allocated() == cuda.max_memory_allocated() == 0
    assert cuda.memory_reserved() == cuda.max_memory_reserved() == 0
    assert cuda.memory_stats() == {}
    cuda.reset_peak_memory_stats()
    with pytest.raises(Exception, match="CUDA"):
        cuda.get_device_properties(0)
