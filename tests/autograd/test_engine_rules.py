"""What backward takes, refuses and leaves behind, under both libraries."""

from __future__ import annotations

import collections
import itertools
import warnings
from typing import Any

import pytest

import clew
from clew.core.state import local
from tests.twice import outcome, raised, twice


def pair(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = torch.tensor([3.0, 4.0], requires_grad=True)
    return x, y, (x * x * y).sum()


@twice
def test_inputs_in_a_dict(torch: Any) -> Any:
    x, y, out = pair(torch)
    grad = torch.autograd.grad
    found = grad(out, {"x": x, 0: y}, create_graph=True)
    x2, y2, out2 = pair(torch)
    out2.backward(inputs={"y": y2})
    return [
        {key: value.detach() for key, value in found.items()},
        x2.grad,
        y2.grad,
        grad((x * 2).sum(), {"x": x, "y": y}, allow_unused=True),
        grad((x * 2).sum(), {"x": x, "y": y}, materialize_grads=True),
        raised(grad, out, {}, words=8),
        raised(grad, out, collections.UserDict(x=x), words=12),
        raised(lambda: out.backward(inputs=collections.OrderedDict(x=x)), words=12),
    ]


@twice
def test_zeros_for_what_was_not_used(torch: Any) -> Any:
    x, y, _ = pair(torch)
    (first,) = torch.autograd.grad((x * 2).sum(), y, materialize_grads=True, create_graph=True)
    edge = torch.autograd.graph.get_gradient_edge(y)
    return [
        first.requires_grad,
        torch.autograd.grad(first.sum(), x, materialize_grads=True),
        raised(torch.autograd.grad, (x * 2).sum(), edge, materialize_grads=True, words=10),
    ]


@twice
def test_edges_as_outputs(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    middle = x.sin()
    edge = torch.autograd.graph.get_gradient_edge(middle)
    grad = torch.autograd.grad
    return [
        grad(edge, x, torch.ones(2), retain_graph=True),
        raised(grad, edge, x, words=9),
        raised(grad, edge, x, torch.ones(3), words=12),
        raised(grad, edge, x, torch.ones(2, dtype=torch.complex64), words=12),
    ]


@twice
def test_gradients_of_a_batch_must_fit(torch: Any) -> Any:
    x = torch.ones(2, 2, requires_grad=True)
    out = x.clone()
    return raised(torch.autograd.grad, out, x, torch.ones(2, 2), is_grads_batched=True, words=30)


@twice
def test_nodes_count_their_gradients(torch: Any) -> Any:
    x = torch.ones(1, requires_grad=True)
    node = (x * x).grad_fn
    return [
        raised(node, x.detach(), x.detach(), words=7),
        raised(node, words=7),
        node(x.detach()),
    ]


@twice
def test_hooks_of_an_output_without_gradient(torch: Any) -> Any:
    seen = []
    x = torch.arange(3.0, requires_grad=True)
    parts = x.unbind()
    parts[0].register_hook(seen.append)
    parts[1].backward()
    return seen, x.grad


@twice
def test_hooks_where_backward_ends(torch: Any) -> Any:
    log: list[str] = []

    def run(**options: Any) -> list[str]:
        log.clear()
        x = torch.tensor(1.0, requires_grad=True)
        y = x.clone()
        y.register_hook(lambda g: log.append("tensor"))
        y.grad_fn.register_prehook(lambda g: log.append("pre"))
        y.grad_fn.register_hook(lambda *g: log.append("post"))
        (y * 2).backward(inputs=[y])
        return list(log)

    return run()


def test_backward_inside_of_backward_at_any_depth() -> None:
    class Deep(clew.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            with clew.enable_grad():
                ctx.x = x.detach().requires_grad_() - 1
            return ctx.x.detach()

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            if ctx.x > 0:
                with clew.enable_grad():
                    Deep.apply(ctx.x).sum().backward()
            return grad

    x = clew.tensor(300.0, requires_grad=True)
    Deep.apply(x).sum().backward()
    assert x.grad == 1


def test_an_error_deep_inside_arrives() -> None:
    class Deep(clew.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            with clew.enable_grad():
                ctx.x = x.detach().requires_grad_() - 1
            return ctx.x.detach()

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            if ctx.x < 0:
                raise KeyError("deep")
            with clew.enable_grad():
                Deep.apply(ctx.x).sum().backward()
            return grad

    with pytest.raises(KeyError, match="deep"):
        Deep.apply(clew.tensor(100.0, requires_grad=True)).sum().backward()
    assert clew.is_grad_enabled()
    assert not local.state.backward_runs


# -- leaves ----------------------------------------------------------------------------------


@twice
def test_dtype_of_gradients(torch: Any) -> Any:
    class Doubles(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad.double()

    def gradient(*dtype: Any) -> Any:
        x = torch.ones(2, requires_grad=True)
        if dtype:
            x.grad_dtype = dtype[0]
        Doubles.apply(x).sum().backward()
        return x.grad, x.grad_dtype

    x = torch.ones(2, requires_grad=True)
    x.grad = torch.ones(2)

    def assign(name: str, value: Any) -> Any:
        return raised(setattr, x, name, value, words=8)

    return [
        gradient(),
        gradient(None),
        gradient(torch.float16),
        assign("grad_dtype", torch.float16),
        raised(lambda: (x * 2).grad_dtype, words=8),
    ]


@twice
def test_attributes_cannot_be_deleted(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    x.grad = torch.ones(2)
    del x.grad
    names = ("data", "requires_grad", "_grad_fn", "_backward_hooks")
    return [
        x.grad,
        [raised(delattr, x, name, words=6) for name in names],
        raised(setattr, x, "data", None, words=8),
    ]


@twice
def test_hooks_that_are_assigned(torch: Any) -> Any:
    x, plain = torch.ones(2, requires_grad=True), torch.ones(2)
    for tensor in (x, plain):
        tensor._backward_hooks = collections.OrderedDict({0: lambda g: g * 5})
    (x * plain).sum().backward()
    return x.grad, list(x._backward_hooks), list(plain._backward_hooks)


@twice
def test_memory_set_in_place_leaves_the_graph(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    edge = torch.autograd.graph.get_gradient_edge(x)
    out = x.clone()
    with torch.no_grad():
        x.set_(torch.zeros(2))
    return [
        raised(torch.autograd.grad, out.sum(), x, retain_graph=True, words=12),
        torch.autograd.grad(out.sum(), edge),
    ]


@twice
def test_numpy_without_grad(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        found = x.numpy().tolist()
    return found, raised(x.numpy, words=8)


# -- views -----------------------------------------------------------------------------------


@twice
def test_how_invalid_views_print(torch: Any) -> Any:
    x = torch.ones(1, requires_grad=True)
    with torch.no_grad():
        untouched = x[:]
        written = x.detach().requires_grad_()[:]
        written *= 2
    return repr(untouched), repr(written)


@twice
def test_views_that_change_shape_in_place(torch: Any) -> Any:
    arguments = {"transpose_": (0, 1), "unsqueeze_": (0,), "t_": (), "squeeze_": ()}

    def run(change: str, multiple: bool, at_view: bool, at_change: bool, wanted: bool) -> Any:
        x = torch.arange(8.0).reshape(2, 2, 2).requires_grad_(wanted)
        base = x * 2
        with torch.set_grad_enabled(at_view):
            view = base.unbind()[0] if multiple else base[0].view_as(base[0])
        with torch.set_grad_enabled(at_change):
            getattr(view, change)(*arguments[change])
        view.mul_(3)
        if wanted:
            (view * torch.arange(4.0).reshape(view.shape)).sum().backward()
        return view.detach(), x.grad

    cases = itertools.product(arguments, *[(True, False)] * 4)
    return {str(case): outcome(run, *case, words=20) for case in cases}


# -- saved tensors ---------------------------------------------------------------------------


@twice
def test_which_tensor_was_overwritten(torch: Any) -> Any:
    class Custom(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad

    def run(make: Any, dtype: Any = torch.float32) -> Any:
        x = torch.ones(3, 4, requires_grad=True, dtype=dtype)
        made = make(x)
        out = made * made
        with torch.no_grad():
            made += 1
        return raised(out.sum().backward, words=25)

    return [
        run(lambda x: x + 1),
        run(lambda x: x.sum(1)),
        run(lambda x: x, torch.float64),
        run(Custom.apply),
        run(lambda x: x.exp()),
    ]


@twice
def test_saved_tensors_may_change(torch: Any) -> Any:
    allow = torch.autograd.graph.allow_mutation_on_saved_tensors
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    counts = []
    with allow() as guard:
        y = x.clone()
        a, b = y**2, y**2
        y.sin_()
        counts.append(len(guard.cloned))
        c = y**2
        y.sin_()
        counts.append(len(guard.cloned))
        del b, c
        counts.append(len(guard.cloned))
        a.sum().backward()
        other = torch.ones(2)
        out = x * other
        torch.sin(x.detach(), out=other)
        out.sum().backward()
        left = (x * x).sum()
    with allow():
        nested = raised(allow().__enter__, words=6)
    return counts, nested, x.grad, raised(left.backward, words=7)


def test_hooks_entered_in_backward_end_with_it() -> None:
    hooks = clew.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x)

    def unpack(x: Any) -> Any:
        hooks.__enter__()
        return x

    x = clew.ones(2, requires_grad=True)
    with clew.autograd.graph.saved_tensors_hooks(lambda x: x, unpack):
        out = x.sin().sum()
    out.backward()
    assert local.state.saved_hooks == ()


# -- modes -----------------------------------------------------------------------------------


@twice
def test_grad_modes_decorate_classes(torch: Any) -> Any:
    seen = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")

        @torch.no_grad()
        class Made:
            def __init__(self) -> None:
                seen.append(torch.is_grad_enabled())

            def method(self) -> None:
                seen.append(torch.is_grad_enabled())

    Made().method()
    return seen, [(w.category.__name__, str(w.message)[:60]) for w in caught]


@twice
def test_threads_of_backward(torch: Any) -> Any:
    autograd = torch.autograd
    seen = [autograd.is_multithreading_enabled()]
    with autograd.set_multithreading_enabled(False):
        seen.append(autograd.is_multithreading_enabled())
    seen.append(autograd.is_multithreading_enabled())
    autograd.set_multithreading_enabled(False)
    seen.append(autograd.is_multithreading_enabled())
    x = torch.ones(200, 200, requires_grad=True)
    (x @ x).sum().backward()
    autograd.set_multithreading_enabled(True)
    return [*seen, x.grad[0, :3], autograd.is_multithreading_enabled()]


@twice
def test_inference_tensors_as_out_and_resized(torch: Any) -> Any:
    with torch.inference_mode():
        x = torch.ones(2, 3, requires_grad=True)
        x.resize_(1, 2)
        inference = torch.ones(2)
    plain = torch.ones(2)
    return x.shape, x.requires_grad, raised(torch.mul, plain, plain, out=inference, words=9)
