"""Each pass over graphs: what it leaves, and that results stay those of eager."""

from __future__ import annotations

from typing import Any

import pytest

import clew
import clew.nn.functional as F
from clew import nn
from clew.compiler import passes
from clew.compiler.graph import CALL, FUSED, VIEW, Graph
from clew.compiler.passes.validation import compare, versions
from tests.compiler.test_compile import bits


def graph_of(compiled: Any) -> Graph:
    graph: Graph = compiled.events[0].trace.graph
    return graph


def names(graph: Graph, kind: str) -> list[str]:
    return [each.name for each in graph.instructions if each.kind == kind]


def test_an_elementwise_chain_is_one_kernel_and_what_nobody_uses_is_left_out() -> None:
    x = clew.randn(50, 7, requires_grad=True)

    def step() -> None:
        x.grad = None
        (F.gelu(x) * x.sigmoid() + x.tanh()).mean().backward()

    step()
    right = x.grad.clone()
    compiled = clew.compile(step)
    compiled(), compiled()
    large = [
        each
        for each in graph_of(compiled).instructions
        if each.kind == FUSED and each.outputs[0] is not None and each.outputs[0].size > 1
    ]
    # The value of the loss is not returned: only the gradient is computed, from x alone.
    assert len(large) == 1
    clew.testing.assert_close(x.grad, right)


def test_a_kernel_never_reads_memory_after_it_was_overwritten() -> None:
    def program(x: clew.Tensor) -> clew.Tensor:
        y = x + 1
        kept = y * 2
        y.mul_(10)
        late = y + kept
        x.zero_()
        return late + x + kept

    compiled = clew.compile(program)
    for seed in range(3):
        clew.manual_seed(seed)
        x = clew.randn(33)
        assert bits(compiled(x.clone())) == bits(program(x.clone()))


def test_what_was_overwritten_through_a_view_is_not_computed_again() -> None:
    def program(x: clew.Tensor) -> clew.Tensor:
        y = x - 1
        y[1:].mul_(2)
        return -y

    compiled = clew.compile(program)
    for seed in range(3):
        clew.manual_seed(seed)
        x = clew.randn(3, 4)
        assert bits(compiled(x)) == bits(program(x))
    assert compiled.events[0].problem is None


def test_a_copy_of_what_was_overwritten_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def program(x: clew.Tensor) -> clew.Tensor:
        y = x - 1
        y[1:].mul_(2)
        return -y

    def copy(graph: Graph) -> None:
        """Compute `x - 1` once more in the last kernel."""
        first, last = (each for each in graph.instructions if each.kind == FUSED)
        last.detail.members.insert(0, first.detail.members[0])

    monkeypatch.setattr(passes, "PASSES", (*passes.PASSES, copy))
    compiled = clew.compile(program)
    compiled(clew.ones(3, 4))
    assert "computed again without writes" in (compiled.events[0].problem or "")


def test_views_of_the_same_elements_are_merged() -> None:
    @clew.compile
    def program(x: clew.Tensor) -> clew.Tensor:
        return x.t().t().t().mm(x.t().t())

    x = clew.randn(3, 2)
    program(x), program(x)
    assert len(names(graph_of(program), VIEW)) == 1


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_products_that_become_gradients_are_waited_for(threads: int) -> None:
    before = clew.get_num_threads()
    clew.set_num_threads(threads)
    try:
        clew.manual_seed(0)
        model = nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 128))

        def step(x: clew.Tensor) -> clew.Tensor:
            model.zero_grad()
            model(x).square().mean().backward()
            return model[0].weight.grad.norm()

        compiled = clew.compile(step)
        for seed in range(4):
            clew.manual_seed(seed)
            x = clew.randn(64, 128)
            right = step(x), model[2].weight.grad.clone()
            clew.testing.assert_close((compiled(x), model[2].weight.grad), right)
        assert "wait" in names(graph_of(compiled), CALL)
    finally:
        clew.set_num_threads(before)


# -- what a compiled function tells ------------------------------------------------------------


def test_explain_and_profile() -> None:
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    update = clew.optim.SGD(model.parameters(), 0.1)

    @clew.compile
    def step(x: clew.Tensor) -> clew.Tensor:
        update.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        update.step()
        return loss

    x = clew.randn(3, 4)
    step(x)
    assert "captured 1 times, compiled 1 times" in step.explain("summary")
    assert "fused tanh" in step.explain() and "test_passes.py" in step.explain()
    assert "def run(inputs, given):" in step.explain("program")
    assert "matmul [3, 4], [4, 8], [3, 8]" in step.explain("program")
    assert "1 native segments of " in step.explain("summary")
    assert "f32 = " in step.explain("kernels")
    assert "define " in step.explain("llvm")
    with pytest.raises(ValueError, match="explain"):
        step.explain("assembly of the moon")
    table = step.profile(x)
    assert "SGD.step" in table and table.splitlines()[-1].endswith("all")
    through_numpy = clew.compile(lambda x: clew.from_numpy(x.numpy()))
    with pytest.raises(RuntimeError, match="not compiled"):
        through_numpy.profile(x)


def test_transforms_inside_a_compiled_function() -> None:
    weight = clew.randn(4, 4)

    def curve(x: clew.Tensor) -> clew.Tensor:
        return clew.tanh(weight @ x)

    jacobian = clew.func.jacrev(curve)
    compiled = clew.compile(jacobian)
    per_sample = clew.func.vmap(clew.func.grad(lambda x: curve(x).square().sum()))
    mapped = clew.compile(per_sample)
    pushed = clew.compile(lambda x, v: clew.func.jvp(curve, (x,), (v,))[1])
    for seed in range(3):
        clew.manual_seed(seed)
        x, v, rows = clew.randn(4), clew.randn(4), clew.randn(5, 4)
        clew.testing.assert_close(compiled(x), jacobian(x))
        clew.testing.assert_close(mapped(rows), per_sample(rows))
        clew.testing.assert_close(pushed(x, v), clew.func.jvp(curve, (x,), (v,))[1])
    for each in (compiled, mapped, pushed):
        assert [event.problem for event in each.events] == [None]


def test_a_pass_that_moves_a_read_over_a_write_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def program(x: clew.Tensor) -> clew.Tensor:
        y = x.cumsum(0)
        kept = y.cumsum(0)
        y.mul_(10)
        return kept + y

    def swap(graph: Graph) -> None:
        """Put the write before the read."""
        place = next(i for i, each in enumerate(graph.instructions) if each.writes())
        before = graph.instructions[place - 1]
        assert before.name == "cumsum"
        graph.instructions[place - 1 : place + 1] = graph.instructions[place], before

    monkeypatch.setattr(passes, "PASSES", (*passes.PASSES, swap))
    compiled = clew.compile(program)
    assert bits(compiled(clew.ones(4))) == bits(program(clew.ones(4)))
    assert "after swap, this reads" in compiled.events[0].problem


def test_versions_of_memory_follow_writes() -> None:
    def program(x: clew.Tensor) -> clew.Tensor:
        y = x.cumsum(0)
        y.add_(1)
        y.mul_(2)
        return y.cumsum(0)

    compiled = clew.compile(program)
    compiled(clew.ones(3))
    graph = graph_of(compiled)
    found = versions(graph)
    last = graph.instructions[-1]
    assert [count for _, count in found[last]] == [2]
    compare("nothing", found, versions(graph))
