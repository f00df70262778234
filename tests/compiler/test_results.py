"""Results of compiled calls: their memory, versions, and what backward makes of them."""

from __future__ import annotations

from typing import Any

import pytest

import clew
from clew import nn
from tests.compiler.agreement import Wrap, assert_agreement, ones, shown


def result_view_of_input(wrap: Wrap) -> Any:
    f = wrap(lambda x: x[0])
    out = []
    for _ in range(3):
        x = clew.ones(2, 2)
        y = f(x)
        y.fill_(5.0)
        out += [shown(x), y._is_view(), y._base is x, x._version, y._version]
    return out


def result_view_of_input_grad(wrap: Wrap) -> Any:
    f = wrap(lambda x: x[0])
    out = []
    for _ in range(3):
        x = clew.ones(2, 2, requires_grad=True) * 1
        y = f(x)
        y.mul_(5.0)
        out += [shown(x)]
        x.sum().backward()
    return out


def result_view_of_state(wrap: Wrap) -> Any:
    s = clew.ones(2, 2)
    f = wrap(lambda x: s[0])
    out = []
    for _ in range(3):
        y = f(ones())
        y.add_(1.0)
        out += [shown(s), y._is_view(), y._base is s, s._version]
    return out


def detach_result(wrap: Wrap) -> Any:
    f = wrap(lambda x: x.detach())
    out = []
    for _ in range(3):
        x = clew.ones(2, requires_grad=True)
        y = f(x)
        out.append(shown(y))
        y.fill_(3.0)
        out += [shown(x), x._version, y._is_view()]
    return out


def result_share_nograd(wrap: Wrap) -> Any:

    def g(x: Any) -> Any:
        y = x * 2
        return (y, y[0])

    f = wrap(g)
    out = []
    for _ in range(3):
        a, b = f(ones())
        b.fill_(7.0)
        out += [shown(a), a._version, b._version]
    return out


def result_share_grad(wrap: Wrap) -> Any:

    def g(x: Any) -> Any:
        y = x * 2
        return (y, y[0])

    f = wrap(g)
    out = []
    for _ in range(3):
        x = clew.ones(2, requires_grad=True)
        a, b = f(x)
        b.mul_(7.0)
        a.sum().backward()
        out += [shown(a), shown(x.grad)]
    return out


def saved_result_written(wrap: Wrap) -> Any:
    f = wrap(lambda x: x.exp())
    out = []
    for _ in range(3):
        x = clew.ones(2, requires_grad=True)
        y = f(x)
        y.add_(1)
        try:
            y.sum().backward()
            out.append(shown(x.grad))
        except RuntimeError:
            out.append("modified")
    return out


def saved_result_data_written(wrap: Wrap) -> Any:
    f = wrap(lambda x: x.tanh())
    out = []
    for _ in range(3):
        x = clew.ones(2, requires_grad=True)
        y = f(x)
        y.detach().add_(1)
        try:
            y.sum().backward()
            out.append(shown(x.grad))
        except RuntimeError:
            out.append("modified")
    return out


def version_of_result(wrap: Wrap) -> Any:

    def g(x: Any) -> Any:
        y = x * 2
        y.add_(1)
        return y

    f = wrap(g)
    return [f(ones())._version for _ in range(3)]


def strides_of_result(wrap: Wrap) -> Any:
    f = wrap(lambda x: (x.t() * 2, x.t().contiguous(), x.permute(1, 0) + 1, clew.relu(x.t())))
    return [[t.stride() for t in f(clew.ones(2, 3))] for _ in range(3)]


def subclass(wrap: Wrap) -> Any:

    class Sub(clew.Tensor):
        pass

    f = wrap(lambda x: x * 2)
    out = []
    for _ in range(3):
        y = f(clew.ones(2).as_subclass(Sub))
        out.append((type(y).__name__, shown(y)))
    return out


def inference(wrap: Wrap) -> Any:
    lin = nn.Linear(2, 2)
    with clew.no_grad():
        for p in lin.parameters():
            p.fill_(0.5)
    f = wrap(lin)
    out = []
    for i in range(6):
        with clew.inference_mode(bool(i % 2)):
            y = f(ones())
            out.append(shown(y))
            out.append(y.is_inference())
    return out


def returns_grad(wrap: Wrap) -> Any:
    p = clew.ones(2, requires_grad=True)

    def g(x: Any) -> Any:
        p.grad = None
        (p * x).sum().backward()
        return p.grad

    f = wrap(g)
    out = []
    for i in range(3):
        r = f(ones() * i)
        out.append((shown(r), r is p.grad))
    return out


def grad_assigned(wrap: Wrap) -> Any:
    p = clew.ones(2, requires_grad=True)

    def g(x: Any) -> Any:
        p.grad = x * 2
        return p.grad * 1

    f = wrap(g)
    out = []
    for i in range(4):
        out.append(shown(f(ones() * i)))
        out.append(shown(p.grad))
    return out


def grad_inplace(wrap: Wrap) -> Any:
    p = clew.ones(2, requires_grad=True)

    def g(x: Any) -> Any:
        (p * x).sum().backward()
        p.grad.mul_(0.5)
        p.grad.clamp_(max=0.4)

    f = wrap(g)
    out = []
    for i in range(6):
        f(ones() * i)
        out.append(shown(p.grad))
    return out


def grad_of_arg(wrap: Wrap) -> Any:

    def g(x: Any) -> Any:
        (x * x).sum().backward()
        return x.grad * 1

    f = wrap(g)
    out = []
    for i in range(4):
        x = (ones() * i).requires_grad_()
        out.append(shown(f(x)))
        out.append(shown(f(x)))
        out.append(shown(x.grad))
    return out


def grad_read_before(wrap: Wrap) -> Any:
    p = clew.ones(2, requires_grad=True)

    def step(x: Any) -> Any:
        if p.grad is None:
            return x * 1
        return x * p.grad

    f = wrap(step)
    out = []
    for i in range(6):
        if i == 2:
            p.grad = clew.tensor([3.0, 4.0])
        if i == 4:
            p.grad = None
        out.append(shown(f(ones())))
    return out


def grads_between(wrap: Wrap) -> Any:
    p = clew.ones(2, requires_grad=True)

    def step(x: Any) -> Any:
        (p * x).sum().backward()
        return p.grad * 1

    f = wrap(step)
    out = []
    for i in range(8):
        if i == 3:
            p.grad = None
        if i == 5:
            p.grad = clew.full((2,), 7.0)
        if i == 6:
            p.grad = clew.zeros(2, 2)[:, 0]
        out.append(shown(f(ones())))
        out.append(shown(p.grad))
    return out


def grad_steal(wrap: Wrap) -> Any:
    f = wrap(lambda x: x + 1)
    g = wrap(lambda x, y: x + y)
    h = wrap(lambda x: x.reshape(1, 2))
    out = []
    for _ in range(3):
        x = clew.ones(2, requires_grad=True)
        G = clew.ones(2)
        f(x).backward(G)
        x.grad.mul_(3)
        out.append(shown(G))
        x = clew.ones(2, requires_grad=True)
        y = clew.ones(2, requires_grad=True)
        g(x, y).backward(G)
        x.grad.mul_(3)
        out += [shown(G), shown(y.grad)]
        x = clew.ones(2, requires_grad=True) * 1
        x.retain_grad()
        G = clew.ones(1, 2)
        h(x).backward(G)
        x.grad.mul_(3)
        out.append(shown(G))
    return out


def double_backward_outside(wrap: Wrap) -> Any:
    p = clew.ones(2, requires_grad=True)
    f = wrap(lambda x: ((p * x) ** 3).sum())
    out = []
    for i in range(4):
        (gr,) = clew.autograd.grad(f(ones() * i), p, create_graph=True)
        (h,) = clew.autograd.grad(gr.sum(), p)
        out += [shown(gr), shown(h)]
    return out


def double_backward_state_written(wrap: Wrap) -> Any:
    s = clew.zeros(2)
    p = clew.ones(2, requires_grad=True)

    def g(x: Any) -> Any:
        s.add_(1)
        return ((p * x) ** 3 * s).sum()

    f = wrap(g)
    out = []
    for i in range(4):
        y = f(ones() * i)
        (gr,) = clew.autograd.grad(y, p, create_graph=True)
        out.append(shown(gr))
        (h,) = clew.autograd.grad(gr.sum(), p)
        out += [shown(h), shown(s), s._version]
    return out


def arg_written_after_double(wrap: Wrap) -> Any:
    f = wrap(lambda x: (x**3).sum())
    out = []
    for _ in range(4):
        x = clew.ones(2, requires_grad=True)
        y = f(x)
        with clew.no_grad():
            x.mul_(2)
        try:
            (gr,) = clew.autograd.grad(y, x, create_graph=True)
            out.append(shown(gr))
        except RuntimeError:
            out.append("E")
    return out


def backward_none_vs_zero(wrap: Wrap) -> Any:
    f = wrap(lambda x, p: (x * 2, p * x))
    out = []
    for _ in range(3):
        x = clew.ones(2, requires_grad=True)
        p = clew.ones(2, requires_grad=True)
        a, _ = f(x, p)
        a.sum().backward()
        out += [shown(x.grad), shown(p.grad)]
    return out


def anomaly(wrap: Wrap) -> Any:
    f = wrap(lambda x: x.sqrt().sum())
    out = []
    for _ in range(4):
        x = clew.zeros(1, requires_grad=True)
        try:
            y = f(x) * 0
            with clew.autograd.detect_anomaly():
                y.backward()
            out.append("ok")
        except RuntimeError as e:
            out.append(str(e)[:30])
    return out


def create_graph(wrap: Wrap) -> Any:
    p = clew.ones(2, requires_grad=True)

    def g(x: Any) -> Any:
        y = ((p * x) ** 3).sum()
        (gr,) = clew.autograd.grad(y, p, create_graph=True)
        (gr**2).sum().backward()
        r = p.grad * 1
        p.grad = None
        return (r, gr)

    f = wrap(g)
    return [shown(f(ones() * i)) for i in range(4)]


def nonleaf_state(wrap: Wrap) -> Any:
    p = clew.ones(2, requires_grad=True)
    S = {"h": p * 3}
    f = wrap(lambda x: (x * S["h"]).sum())
    out = []
    for i in range(4):
        if i == 2:
            S["h"] = p * 5
        p.grad = None
        f(ones()).backward(retain_graph=True)
        out.append(shown(p.grad))
    return out


SCENARIOS = [
    result_view_of_input,
    result_view_of_input_grad,
    result_view_of_state,
    detach_result,
    result_share_nograd,
    result_share_grad,
    saved_result_written,
    saved_result_data_written,
    version_of_result,
    strides_of_result,
    subclass,
    inference,
    returns_grad,
    grad_assigned,
    grad_inplace,
    grad_of_arg,
    grad_read_before,
    grads_between,
    grad_steal,
    double_backward_outside,
    double_backward_state_written,
    arg_written_after_double,
    backward_none_vs_zero,
    anomaly,
    create_graph,
    nonleaf_state,
]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.__name__)
@pytest.mark.filterwarnings("ignore")
def test_compiled_is_eager(scenario: Any) -> None:
    assert_agreement(scenario)


def returned_gradients(wrap: Wrap) -> Any:
    w, out = clew.ones(2, requires_grad=True), []

    def fresh(x: clew.Tensor) -> Any:
        w.grad = None
        (w * x).sum().backward()
        return w.grad, w.grad

    def accumulated(x: clew.Tensor) -> Any:
        (w * x).sum().backward()
        return w.grad

    first, second, kept = wrap(fresh), wrap(accumulated), []
    for number in range(4):
        one, other = first(ones(number))
        assert one is other and one is w.grad
        kept.append(one)
        third = second(ones(10))
        out += [third is w.grad, shown(third)]
    return [*out, kept]


def test_returned_gradients_are_those_of_the_leaf() -> None:
    made = assert_agreement(returned_gradients)
    assert all(event.problem is None for each in made for event in each.events)
