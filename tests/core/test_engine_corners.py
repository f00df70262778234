"""More corners: hooks with given inputs, nodes called by hand, functions with odd outputs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.twice import raised, twice, vector

# ---------------------------------------------------------------- the engine


@twice
def test_leaves_of_one_node_come_in_order(torch: Any) -> Any:
    x, w, b = (torch.ones(2, 2).double().requires_grad_() for _ in range(3))
    ran: list[str] = []
    for tensor, name in ((x, "x"), (w, "w"), (b, "b")):
        tensor.register_hook(lambda g, name=name: ran.append(name))
    torch.addmm(b, x, w).sum().backward()
    return ran


@twice
def test_callbacks_run_at_the_end_of_their_backward(torch: Any) -> Any:
    engine, ran = torch.autograd.Variable._execution_engine, []
    x = vector(torch, 1.0, 2.0)

    class Queues(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, value: Any, name: str) -> Any:
            ctx.name = name
            return value.clone()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            def callback() -> None:
                ran.append((ctx.name, x.grad is None, torch.is_grad_enabled()))

            engine.queue_callback(callback)
            if ctx.name == "outer":
                with torch.enable_grad():
                    Queues.apply(vector(torch, 1.0), "nested").sum().backward()
            ran.append(ctx.name)
            return g, None

    Queues.apply(Queues.apply(x, "inner"), "outer").sum().backward()
    more = vector(torch, 1.0)

    def callback() -> None:
        ran.append("first")
        engine.queue_callback(lambda: ran.append("added"))

    def fail() -> None:
        raise ValueError("in a callback")

    more.register_hook(lambda g: engine.queue_callback(callback))
    torch.autograd.grad((more * 2).sum(), more)
    more.register_hook(lambda g: engine.queue_callback(fail))
    failure = raised((more * 2).sum().backward)
    return ran, failure, more.grad, raised(engine.queue_callback, callback)


@twice
def test_post_accumulate_hook_with_given_inputs(torch: Any) -> Any:
    x, w = vector(torch, 1.0), vector(torch, 2.0)
    ran: list[str] = []
    x.register_post_accumulate_grad_hook(lambda p: ran.append("x"))
    w.register_post_accumulate_grad_hook(lambda p: ran.append("w"))
    (x * w).backward(inputs=[x])
    torch.autograd.grad(x * w, [x, w])
    return ran, x.grad, w.grad


@twice
def test_retained_gradient_with_given_inputs(torch: Any) -> Any:
    x = vector(torch, 1.0)
    hidden = x * 2
    hidden.retain_grad()
    (hidden * 3).backward(inputs=[hidden])
    other = x * 2
    other.retain_grad()
    (other * 3).backward(inputs=[x])
    return hidden.grad, other.grad, x.grad


@twice
def test_nodes_can_be_called(torch: Any) -> Any:
    x, w = vector(torch, 1.0, 2.0), vector(torch, 3.0, 4.0)
    node = (x * w).grad_fn
    found = node(torch.ones(2).double())
    return found, x.sin().grad_fn(torch.ones(2).double())


@twice
def test_gradient_of_another_dtype_is_converted(torch: Any) -> Any:
    x = vector(torch, 1.0, 2.0)
    (x * 2).backward(torch.ones(2))
    single = torch.ones(2, requires_grad=True)
    (single * 2).backward(torch.ones(2).double())
    return x.grad, single.grad, raised((x * 2).backward, torch.ones(1, 2).double(), words=4)


@twice
def test_root_without_history_among_others(torch: Any) -> Any:
    x = vector(torch, 1.0)
    plain = torch.ones(1).double()
    return [
        raised(torch.autograd.grad, [x * 2, plain], x, words=8),
        raised(torch.autograd.backward, [plain, x * 2], words=8),
        x.grad,
    ]


@twice
def test_grad_after_an_in_place_write(torch: Any) -> Any:
    x = vector(torch, 1.0, 2.0)
    y = x * 2
    before = y
    y.mul_(3)
    z = (y * y).sum()
    return torch.autograd.grad(z, [x, y]), before is y


@twice
def test_second_gradient_through_writes_to_views(torch: Any) -> Any:
    x = vector(torch, 1.0, 2.0, 3.0)
    base = x * x
    base[1:].mul_(x[:2])
    base[0] = base[2].clone() * x[1]
    (g,) = torch.autograd.grad(base.sum(), x, create_graph=True)
    (second,) = torch.autograd.grad((g * g).sum(), x)
    return base.detach(), g.detach(), second


@twice
def test_third_gradient_of_reductions(torch: Any) -> Any:
    x = vector(torch, 0.5, 1.5, 2.5)
    y = x.softmax(0).log().sum() * x.prod() + (x @ x).sqrt()
    for _ in range(3):
        (y,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    return y.detach()


@twice
def test_hook_that_writes_to_a_leaf_gradient(torch: Any) -> Any:
    x = vector(torch, 1.0, 2.0)
    x.register_hook(lambda g: g.clamp_(-1, 1))
    (x * 5).sum().backward()
    return x.grad


@twice
def test_multi_hook_counts_only_reached_tensors(torch: Any) -> Any:
    x = vector(torch, 1.0)
    a, b = x * 2, x * 3
    log: list[Any] = []
    torch.autograd.graph.register_multi_grad_hook(
        (a, b), lambda grads: log.append([g is None for g in grads])
    )
    (a * 1).backward(retain_graph=True)
    (a + b).backward(retain_graph=True)
    (b * 1).backward()
    return log


@twice
def test_graph_without_parameters_needs_no_saved_tensors(torch: Any) -> Any:
    x = vector(torch, 1.0)
    constant = torch.tensor([3.0]).double()
    y = x * constant
    constant.add_(1)
    ok = x + constant
    constant.add_(1)
    return raised(y.backward, words=10), raised(ok.backward) == "nothing raised", x.grad


@twice
def test_unneeded_operand_may_be_overwritten(torch: Any) -> Any:
    x = vector(torch, 1.0, 2.0)
    constant = torch.ones(2).double()
    product = constant * 1
    y = x * product
    z = x.exp()
    held = x * 2
    total = held.sum()
    held.zero_()
    (total + z.sum()).backward()
    return x.grad, y.requires_grad


@twice
def test_anomaly_in_a_custom_function_and_in_the_second_gradient(torch: Any) -> Any:
    class Bad(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * float("nan")

    x = vector(torch, 0.0)
    with torch.autograd.set_detect_anomaly(True):
        first = raised(Bad.apply(x).backward, words=8)
        (g,) = torch.autograd.grad((x.abs() ** 1.5).sum(), x, create_graph=True)
        second = raised(g.sum().backward, words=3)
    return first, second


# ---------------------------------------------------------------- custom functions


def function(torch: Any, forward: Any, backward: Any = None) -> Any:
    members = {
        "forward": staticmethod(forward),
        "backward": staticmethod(backward or (lambda ctx, *g: g[0])),
    }
    return type("Custom", (torch.autograd.Function,), members).apply


@twice
def test_gradient_of_another_dtype_from_a_function(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    apply = function(torch, lambda ctx, x: x.double(), lambda ctx, g: g * 3)
    apply(x).sum().backward()
    return x.grad


@twice
def test_flags_of_needs_input_grad(torch: Any) -> Any:
    seen: list[Any] = []

    def forward(ctx: Any, x: Any, n: Any, w: Any) -> Any:
        seen.append(ctx.needs_input_grad)
        return x * w

    apply = function(torch, forward, lambda ctx, g: (g, None, g))
    x, plain = vector(torch, 1.0), torch.ones(1).double()
    apply(x, 3, plain)
    apply(plain, None, plain)
    with torch.no_grad():
        apply(x, 3, x)
    return seen


@twice
def test_the_same_tensor_returned_twice(torch: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        y = x * 2
        return y, y

    x = vector(torch, 1.0)
    a, b = function(torch, forward, lambda ctx, g, h: g + h * 10)(x)
    (a + b * 2).backward()
    return a is b, x.grad


@twice
def test_the_same_tensor_passed_twice(torch: Any) -> Any:
    x = vector(torch, 3.0)
    apply = function(torch, lambda ctx, a, b: a * b, lambda ctx, g: (g * 2, g * 5))
    apply(x, x).backward()
    return x.grad


@twice
def test_output_changed_in_place_afterwards(torch: Any) -> Any:
    x = vector(torch, 1.0, 2.0)
    y = function(torch, lambda ctx, x: x * 2, lambda ctx, g: g * 2)(x)
    y.mul_(3)
    y.sum().backward()
    return y, x.grad, y.grad_fn.name()


@twice
def test_view_from_a_function_refuses_writes(torch: Any) -> Any:
    x = vector(torch, 1.0, 2.0) * 1
    view = function(torch, lambda ctx, x: x[:1], lambda ctx, g: torch.cat([g, g * 0]))(x)
    passed = function(torch, lambda ctx, x: x)(x)
    pair = function(torch, lambda ctx, x: (x[:1], x[1:]), lambda ctx, a, b: torch.cat([a, b]))(x)
    return [
        raised(view.mul_, 2, words=4),
        raised(passed.mul_, 2, words=4),
        raised(pair[0].mul_, 2, words=4),
    ]


@twice
def test_saved_output_changed_afterwards(torch: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    x = vector(torch, 1.0)
    y = function(torch, forward, lambda ctx, g: g * ctx.saved_tensors[0])(x)
    y.mul_(2)
    return raised(y.backward, words=10)


@twice
def test_tensor_captured_by_a_closure(torch: Any) -> Any:
    w, x = vector(torch, 2.0), vector(torch, 3.0)
    apply = function(torch, lambda ctx, x: x * w, lambda ctx, g: g * w)
    out = apply(x)
    out.backward()
    return x.grad, w.grad


@twice
def test_functions_compose(torch: Any) -> Any:
    double = function(torch, lambda ctx, x: x * 2, lambda ctx, g: g * 2)

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return double(x) * x

    square = function(torch, forward, lambda ctx, g: g * 4 * ctx.saved_tensors[0])
    x = vector(torch, 3.0)
    (g,) = torch.autograd.grad(square(double(x)), x, create_graph=True)
    return g.detach(), torch.autograd.grad(g, x)


@twice
def test_saved_tensors_inside_forward(torch: Any) -> Any:
    seen: list[Any] = []

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        seen.append(len(ctx.saved_tensors) if hasattr(ctx, "saved_tensors") else None)
        return x * 2

    function(torch, forward)(vector(torch, 1.0))
    return len(seen)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_save_for_backward_called_again_replaces(count: int) -> None:
    def scenario(torch: Any) -> Any:
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x, x)
            ctx.save_for_backward(*[x] * count)
            return x * 2

        sizes: list[int] = []

        def backward(ctx: Any, g: Any) -> Any:
            sizes.append(len(ctx.saved_tensors))
            return g

        function(torch, forward, backward)(vector(torch, 1.0)).backward()
        return sizes

    twice(scenario)()


@twice
def test_a_gradient_that_somebody_keeps_is_not_the_leafs_own(torch: Any) -> Any:
    kept = []

    class Keep(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            result = g * 2
            kept.append(result)
            return result

    x = torch.ones(3, requires_grad=True)
    Keep.apply(x).sum().backward()
    x.grad.mul_(10)
    seed = torch.ones(3)
    y = torch.ones(3, requires_grad=True)
    (y + 0).backward(seed)
    y.grad.zero_()
    return kept, x.grad, seed


@twice
def test_leaves_that_share_a_gradient_own_theirs(torch: Any) -> Any:
    a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    view = torch.ones(2, 2, requires_grad=True)
    (a + b + view.t()).sum().backward()
    a.grad.add_(1)
    return a.grad, b.grad, view.grad
