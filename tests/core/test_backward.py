"""The graph and backward: flags, accumulation, `backward` with all its options."""

from __future__ import annotations

from typing import Any

import pytest

import clew
from clew.core.recording import OpNode
from tests.twice import leaf, raised, twice

# ---------------------------------------------------------------- flags and the graph


@twice
def test_flags(torch: Any) -> Any:
    x = leaf(torch, [1.0, 2.0])
    plain = torch.ones(2)
    y = x * 2
    return [
        (t.requires_grad, t.is_leaf, t.grad_fn is None, t.output_nr, t.retains_grad)
        for t in (x, plain, y, y.detach(), y > 1, x.int(), plain + 1)
    ]


@twice
def test_graph_names_and_edges(torch: Any) -> Any:
    x, w = leaf(torch, [1.0, 2.0]), leaf(torch, [3.0, 4.0])
    out = ((x * w).exp() + x).sum()
    add = out.grad_fn.next_functions[0][0]
    exp = add.next_functions[0][0]
    mul = exp.next_functions[0][0]
    accumulate = mul.next_functions[0][0]
    numbers = [number for _, number in mul.next_functions]
    constant = (x * 3).grad_fn.next_functions
    return [
        [node.name() for node in (out.grad_fn, add, exp, mul, accumulate)],
        numbers,
        accumulate.variable is x,
        mul.next_functions[1][0].variable is w,
        add.next_functions[1][0] is accumulate,
        [constant[0][0] is accumulate, len(constant), constant[1]],
        accumulate.next_functions,
    ]


@twice
def test_node_identity_and_metadata(torch: Any) -> Any:
    x = leaf(torch, [1.0])
    y = x.exp()
    node = y.grad_fn
    node.metadata["mark"] = 7
    return [
        node is y.grad_fn,
        y.grad_fn.metadata,
        type(node).__name__,
        x.exp().grad_fn is node,
        torch.autograd.graph.Node is not None,
        isinstance(node, torch.autograd.graph.Node),
    ]


@twice
def test_several_outputs_number_themselves(torch: Any) -> Any:
    x = leaf(torch, [[1.0, 2.0], [3.0, 4.0]])
    first, second = x.unbind(0)
    (second * torch.tensor([1.0, 10.0])).sum().backward()
    return first.output_nr, second.output_nr, first.grad_fn is second.grad_fn, x.grad


@twice
def test_saved_attributes(torch: Any) -> Any:
    x, w = leaf(torch, [1.0, 2.0]), leaf(torch, [3.0, 4.0])
    mul, exp, power = (x * w).grad_fn, x.exp().grad_fn, (x**3).grad_fn
    total = x.sum(0).grad_fn
    product = x * w
    product.sum().backward()
    return [
        mul._saved_self,
        mul._saved_other,
        exp._saved_result,
        power._saved_self,
        power._saved_exponent,
        tuple(total._saved_self_sym_sizes),
        raised(lambda: product.grad_fn._saved_self, words=12),
    ]


@twice
def test_requires_grad_errors(torch: Any) -> Any:
    x = leaf(torch, [1.0])
    y = x * 2
    return [
        raised(lambda: torch.ones(2, dtype=torch.int64).requires_grad_()),
        raised(lambda: torch.tensor([1, 2], requires_grad=True)),
        raised(lambda: y.requires_grad_(False), words=9),
        raised(lambda: setattr(y, "requires_grad", False), words=9),
        y.requires_grad_(True) is y,
        x.requires_grad_(False).requires_grad,
    ]


@twice
def test_setting_the_flag_late(torch: Any) -> Any:
    x = torch.ones(3)
    before = x * 2
    x.requires_grad = True
    after = (x * 3).sum()
    after.backward()
    x.requires_grad = False
    frozen = x * 4
    return before.requires_grad, x.grad, frozen.requires_grad


# ---------------------------------------------------------------- accumulation


@twice
def test_accumulates_in_place(torch: Any) -> Any:
    x = leaf(torch, [1.0, 2.0])
    (x * 2).sum().backward()
    first = x.grad
    (x * x).sum().backward()
    return first is x.grad, first, first.requires_grad, first.is_leaf


@twice
def test_create_graph_replaces_the_gradient(torch: Any) -> Any:
    x = leaf(torch, [1.0, 2.0])
    (x * 2).sum().backward()
    first = x.grad
    (x**3).sum().backward(create_graph=True)
    return first is x.grad, first, x.grad.detach(), x.grad.requires_grad, x.grad.grad_fn.name()


@twice
def test_gradients_do_not_share_memory(torch: Any) -> Any:
    a, b = leaf(torch, [1.0, 2.0]), leaf(torch, [3.0, 4.0])
    g = torch.tensor([5.0, 6.0], dtype=torch.float64)
    (a + b).backward(g)
    a.grad.mul_(100)
    alone = leaf(torch, [1.0])
    seed = torch.tensor([2.0], dtype=torch.float64)
    alone.backward(seed)
    alone.grad.add_(1)
    return a.grad, b.grad, g, seed


@twice
def test_gradient_of_expand_is_writable(torch: Any) -> Any:
    x = leaf(torch, [1.0, 2.0, 3.0])
    x.sum().backward()
    x.grad[0] = 7
    y = leaf(torch, [[1.0, 2.0], [3.0, 4.0]])
    y.t().backward(torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=torch.float64))
    return x.grad, y.grad, y.grad.is_contiguous()


@twice
def test_writing_to_the_gradient_while_it_accumulates(torch: Any) -> Any:
    x = leaf(torch, [1.0, 2.0])
    seen = []
    x.register_hook(lambda g: seen.append(g.clone()))
    y = x * 2
    (y + y + y).sum().backward()
    x.grad.zero_()
    (x * 3).sum().backward()
    return x.grad, seen


@twice
def test_same_tensor_many_times(torch: Any) -> Any:
    x = leaf(torch, [0.5, -0.25])
    y = x
    for _ in range(20):
        y = y * x + x
    y.sum().backward()
    z = leaf(torch, [2.0])
    torch.cat([z] * 5).sum().backward()
    w = leaf(torch, 3.0)
    (w * w * w * w).backward()
    return x.grad, z.grad, w.grad


@twice
def test_diamonds(torch: Any) -> Any:
    x = leaf(torch, 1.1)
    y = x
    for _ in range(30):
        y = (y.sin() + y.cos()) * 0.9
    y.backward()
    return x.grad


# ---------------------------------------------------------------- backward's options


@twice
def test_non_scalar(torch: Any) -> Any:
    x = leaf(torch, [1.0, 2.0])
    z = leaf(torch, [1 + 2j], dtype="complex128")
    return [
        raised((x * 2).backward, words=8),
        raised((x * 2).backward, torch.ones(3, dtype=torch.float64), words=4),
        raised((x * 2).backward, "gradient", words=3),
        raised(torch.autograd.backward, [x * 2, x * 3], [torch.ones(2).double()], words=6),
        raised((z * 2).backward, words=8),
        raised((z * 2).backward, torch.ones(1), words=5),
        raised(x.detach().backward, words=8),
        raised(torch.ones(()).backward, words=8),
        x.grad,
    ]


@twice
def test_one_element_needs_no_gradient_argument(torch: Any) -> Any:
    x = leaf(torch, [[2.0]])
    (x * x).backward()
    return x.grad


@twice
def test_backward_twice(torch: Any) -> Any:
    x = leaf(torch, [1.0, 2.0])
    y = (x * x).sum()
    y.backward()
    second = raised(y.backward, words=10)
    linear = (x + 2).sum()
    linear.backward()
    linear.backward()
    scaled = (x * 2).sum()
    scaled.backward()
    saves_the_number = raised(scaled.backward, words=10)
    kept = (x * x).sum()
    kept.backward(retain_graph=True)
    kept.backward()
    return second, saves_the_number, x.grad, raised(kept.backward, words=10)


@twice
def test_shared_part_is_freed(torch: Any) -> Any:
    x = leaf(torch, [1.0, 2.0])
    shared = x.exp()
    (shared * 2).sum().backward()
    error = raised((shared * 3).sum().backward, words=10)
    return error, x.grad


@twice
def test_create_graph_keeps_the_graph(torch: Any) -> Any:
    x = leaf(torch, 3.0)
    y = x**3
    (first,) = torch.autograd.grad(y, x, create_graph=True)
    (again,) = torch.autograd.grad(y, x)
    freed = raised(torch.autograd.grad, y, x, words=10)
    z = x**3
    (g,) = torch.autograd.grad(z, x, create_graph=True, retain_graph=False)
    return first.detach(), again, freed, g.requires_grad, raised(g.backward, words=10)


@twice
def test_backward_for_given_inputs(torch: Any) -> Any:
    a, b = leaf(torch, [1.0, 2.0]), leaf(torch, [3.0, 4.0])
    y = a * b
    (y * y).sum().backward(inputs=[a])
    first = a.grad.clone(), b.grad
    hidden = a * b
    out = (hidden * a).sum()
    out.backward(inputs=[hidden, b])
    return [
        *first,
        a.grad,
        b.grad,
        hidden.grad,
        raised(a.sum().backward, inputs=[], words=6),
        raised(a.sum().backward, inputs=torch.ones(2), words=9),
        raised(a.sum().backward, inputs=[b]),
    ]


@twice
def test_several_roots(torch: Any) -> Any:
    x, w = leaf(torch, [1.0, 2.0]), leaf(torch, 3.0)
    y = x * w
    torch.autograd.backward([y, w * 2, y.sum()], [torch.ones(2).double() * 5, None, None])
    return x.grad, w.grad


@twice
def test_the_same_root_twice(torch: Any) -> Any:
    x = leaf(torch, 2.0)
    y = x * x
    torch.autograd.backward([y, y])
    z = leaf(torch, 2.0)
    torch.autograd.backward((z, z * 3))
    return x.grad, z.grad


@twice
def test_zero_size(torch: Any) -> Any:
    x = leaf(torch, []).reshape(0, 3).detach().requires_grad_()
    (x * 2).sum().backward()
    y = leaf(torch, [1.0, 2.0])
    y[:0].sum().backward()
    torch.zeros(0, 2).double().mul(y).sum().backward()
    return x.grad, y.grad


@twice
def test_gradients_fit_broadcast_operands(torch: Any) -> Any:
    row, column, scalar = (
        leaf(torch, [[1.0, 2.0, 3.0]]),
        leaf(torch, [[1.0], [2.0]]),
        leaf(torch, 2.0),
    )
    ((row + column) * scalar).sum().backward()
    single = leaf(torch, [1.0, 2.0], "float32")
    (single * torch.tensor([1.0, 2.0], dtype=torch.float64)).sum().backward()
    half = leaf(torch, [1.0, 2.0], "float16")
    (half.float() * 3).sum().backward()
    return row.grad, column.grad, scalar.grad, single.grad, half.grad


@twice
def test_real_leaf_of_complex_result(torch: Any) -> Any:
    x = leaf(torch, [1.0, 2.0])
    z = x * torch.tensor([1 + 1j, 2 - 3j], dtype=torch.complex128)
    (z * z).abs().sum().backward()
    return x.grad


# ---------------------------------------------------------------- .grad, .data, detach


@twice
def test_assigning_grad(torch: Any) -> Any:
    x = leaf(torch, [1.0, 2.0])
    g = torch.ones(2, dtype=torch.float64)
    x.grad = g
    same = x.grad is g
    (x * 2).sum().backward()
    errors = [
        raised(setattr, x, "grad", torch.ones(3).double()),
        raised(setattr, x, "grad", torch.ones(2), words=7),
        raised(setattr, x, "grad", 3.0, words=6),
        raised(setattr, x, "grad", x, words=4),
    ]
    after = x.grad.clone()
    x.grad = None
    return same, g, errors, after, x.grad


@twice
def test_reading_grad_of_a_non_leaf_warns(torch: Any) -> Any:
    x = leaf(torch, [1.0])
    y = x * 2
    return y.grad


@twice
def test_detach(torch: Any) -> Any:
    x = leaf(torch, [1.0, 2.0])
    y = x * 3
    d = y.detach()
    d[0] = 100
    view = y[0]
    loose = x * 2
    loose.detach_()
    return [
        d.requires_grad, d.is_leaf, y.detach(), y._version, d._version,
        raised(view.detach_, words=7),
        loose.requires_grad, loose.grad_fn is None, loose.is_leaf,
        x.detach_() is x and not x.requires_grad,
    ]  # fmt: skip


@twice
def test_data(torch: Any) -> Any:
    x = leaf(torch, [1.0, 2.0])
    d = x.data
    d.mul_(2)
    flags = d.requires_grad, d.is_leaf
    x.data = torch.tensor([7.0, 8.0, 9.0], dtype=torch.float64)
    (x * x).sum().backward()
    return flags, x.detach(), x.grad, x.is_leaf, x.requires_grad


@twice
def test_requires_grad_after_detach_starts_anew(torch: Any) -> Any:
    x = leaf(torch, [1.0, 2.0])
    hidden = (x * 2).detach().requires_grad_()
    (hidden * hidden).sum().backward()
    return hidden.grad, x.grad


# ---------------------------------------------------------------- order


@twice
def test_nodes_run_newest_first(torch: Any) -> Any:
    x = leaf(torch, [1.0, 2.0])
    ran: list[str] = []

    def watched(tensor: Any, name: str) -> Any:
        tensor.grad_fn.register_hook(lambda *_: ran.append(name))
        return tensor

    a = watched(x.exp(), "a")
    b = watched(a.sin(), "b")
    c = watched(a.cos(), "c")
    d = watched(x * 2, "d")
    e = watched(b * d, "e")
    f = watched(e + c, "f")
    x.register_hook(lambda g: ran.append("x"))
    watched(f.sum(), "sum").backward()
    return ran


@twice
def test_leaves_receive_as_soon_as_they_can(torch: Any) -> Any:
    early, late = leaf(torch, [1.0]), leaf(torch, [2.0])
    ran: list[str] = []
    early.register_hook(lambda g: ran.append("early"))
    late.register_hook(lambda g: ran.append("late"))
    y = (early * 2).exp()
    y.grad_fn.register_hook(lambda *_: ran.append("exp"))
    (y * late).backward()
    return ran


@pytest.mark.parametrize("kind", ["sum", "prod"])
def test_errors_leave_gradients_untouched(kind: str) -> None:
    def scenario(torch: Any) -> Any:
        x = leaf(torch, [1.0, 2.0])
        y = getattr(x * x, kind)()
        x.grad = torch.zeros(2, dtype=torch.float64)
        return raised(y.backward, torch.ones(2).double(), words=4), x.grad

    twice(scenario)()


# ---------------------------------------------------------------- only what is asked for


@pytest.mark.parametrize("wanted", [0b01, 0b10, 0b11])
def test_gradients_that_nobody_asks_for_are_not_computed(wanted: int) -> None:
    """As in torch, where `autograd.grad` of an input leaves out the work for the weights."""
    x, w = clew.randn(2, 3, 5, 5, requires_grad=True), clew.randn(4, 3, 3, 3, requires_grad=True)
    a, b = clew.randn(3, 4, requires_grad=True), clew.randn(4, 2, requires_grad=True)
    for out, leaves in ((clew.conv2d(x, w), (x, w)), (a @ b, (a, b))):
        seed = clew.ones_like(out)
        node: Any = out.grad_fn
        found = node.apply_some((seed,), wanted)
        for bit, expected in enumerate(clew.autograd.grad(out, leaves, seed)):
            if wanted >> bit & 1:
                assert clew.equal(found[bit], expected)
            else:
                assert found[bit] is None


def test_grad_runs_only_the_formulas_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    usual = OpNode.apply_some

    def noted(self: OpNode, grads: Any, wanted: int) -> Any:
        asked.append(wanted)
        return usual(self, grads, wanted)

    monkeypatch.setattr(OpNode, "apply_some", noted)
    a, b = clew.randn(3, 4, requires_grad=True), clew.randn(4, 2, requires_grad=True)
    (a @ b).sum().backward(inputs=[b])
    # The sum needs no choice: all that it returns is wanted.
    assert asked == [0b10] and a.grad is None and b.grad is not None
