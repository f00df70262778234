"""Hooks, custom functions, optimizers and modes around compiled calls."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import clew
from clew import nn
from tests.compiler.agreement import Wrap, assert_agreement, ones, shown


class Custom(clew.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * x * 3


def retain_grad_result(wrap: Wrap) -> Any:
    f = wrap(lambda x: x * 2)
    out = []
    for _ in range(3):
        x = clew.ones(2, requires_grad=True)
        y = f(x)
        y.retain_grad()
        (y * y).sum().backward()
        out += [shown(x.grad), shown(y.grad)]
    return out


def retain_grad_inside(wrap: Wrap) -> Any:

    def g(x: Any) -> Any:
        y = x * 2
        y.retain_grad()
        return y

    f = wrap(g)
    out = []
    for _ in range(3):
        x = clew.ones(2, requires_grad=True)
        y = f(x)
        (y * y).sum().backward()
        out += [shown(x.grad), shown(y.grad)]
    return out


def tensor_hooks(wrap: Wrap) -> Any:
    p = clew.ones(2, requires_grad=True)
    f = wrap(lambda x: (p * x).sum())
    out = []
    for i in range(6):
        if i == 2:
            h = p.register_hook(lambda g: g * 10)
        if i == 4:
            h.remove()
        p.grad = None
        f(ones()).backward()
        out.append(shown(p.grad))
    return out


def hook_inside(wrap: Wrap) -> Any:

    def g(x: Any) -> Any:
        y = x * 2
        y.register_hook(lambda g: g * 10)
        return y.sum()

    f = wrap(g)
    out = []
    for _ in range(3):
        x = clew.ones(2, requires_grad=True)
        f(x).backward()
        out.append(shown(x.grad))
    return out


def hook_inside_backward(wrap: Wrap) -> Any:
    p = clew.ones(2, requires_grad=True)
    log = []

    def g(x: Any) -> Any:
        y = p * x
        y.register_hook(lambda g: log.append(g.sum().item()))
        p.grad = None
        y.sum().backward()

    f = wrap(g)
    out = []
    for i in range(4):
        f(ones() * i)
        out.append(shown(p.grad))
    return (out, log)


def post_acc_hook(wrap: Wrap) -> Any:
    p = clew.ones(2, requires_grad=True)
    log = []

    def g(x: Any) -> Any:
        p.grad = None
        (p * x).sum().backward()

    f = wrap(g)
    out = []
    for i in range(6):
        if i == 2:
            h = p.register_post_accumulate_grad_hook(lambda t: log.append(t.sum().item()))
        if i == 4:
            h.remove()
        f(ones() * i)
        out.append(shown(p.grad))
    return (out, log)


def leaf_hook_step(wrap: Wrap) -> Any:
    p = clew.ones(2, requires_grad=True)

    def g(x: Any) -> Any:
        p.grad = None
        (p * x).sum().backward()

    f = wrap(g)
    out = []
    for i in range(6):
        if i == 2:
            h = p.register_hook(lambda g: g * 10)
        if i == 4:
            h.remove()
        f(ones())
        out.append(shown(p.grad))
    return out


def module_bw_hook(wrap: Wrap) -> Any:
    m = nn.Linear(2, 1)
    log = []
    f = wrap(m)
    for i in range(6):
        if i == 2:
            h = m.register_full_backward_hook(lambda *a: log.append(len(log)))
        if i == 4:
            h.remove()
        f(ones()).sum().backward()
    return log


def global_hooks(wrap: Wrap) -> Any:
    m = nn.Linear(2, 1)
    log = []
    f = wrap(m)
    from clew.nn.modules.module import register_module_forward_hook

    for i in range(6):
        if i == 2:
            h = register_module_forward_hook(lambda *a: log.append(len(log)))
        if i == 4:
            h.remove()
        f(ones())
    return log


def optimizer_groups(wrap: Wrap) -> Any:
    p, q = [clew.ones(2, requires_grad=True) for _ in range(2)]
    opt = clew.optim.SGD([p], 0.1, momentum=0.9)

    def step(x: Any) -> Any:
        opt.zero_grad()
        ((p + q) * x).sum().backward()
        opt.step()

    f = wrap(step)
    out = []
    for i in range(8):
        if i == 3:
            opt.add_param_group({"params": [q], "lr": 1.0})
        if i == 5:
            opt.param_groups[0]["lr"] = 0.5
        f(ones())
        out += [shown(p), shown(q), shown(p.grad), shown(q.grad)]
    return out


def opt_hyper_flags(wrap: Wrap) -> Any:
    p = clew.ones(2, requires_grad=True)
    opt = clew.optim.SGD([p], 0.1)

    def g(x: Any) -> Any:
        opt.zero_grad()
        (p * x).sum().backward()
        opt.step()
        return opt.param_groups[0]["lr"] * x

    f = wrap(g)
    out = []
    for i in range(6):
        opt.param_groups[0]["lr"] = i / 10
        out.append(shown(f(ones() * (i + 1))))
        out.append(shown(p))
    return out


def sched_read(wrap: Wrap) -> Any:
    p = clew.ones(2, requires_grad=True)
    opt = clew.optim.SGD([p], 0.1)
    s = clew.optim.lr_scheduler.ExponentialLR(opt, 0.5)

    def g(x: Any) -> Any:
        opt.zero_grad()
        (p * x).sum().backward()
        opt.step()
        s.step()
        return x * s.get_last_lr()[0]

    f = wrap(g)
    out = []
    for i in range(6):
        out.append(shown(f(ones() * (i + 1))))
        out.append(shown(p))
    return out


def opt_state_loaded(wrap: Wrap) -> Any:
    p = clew.ones(2, requires_grad=True)
    opt = clew.optim.Adam([p], 0.1)

    def g(x: Any) -> Any:
        opt.zero_grad()
        (p * x).sum().backward()
        opt.step()

    f = wrap(g)
    out = []
    for i in range(8):
        if i == 3:
            sd = copy.deepcopy(opt.state_dict())
        if i == 5:
            opt.load_state_dict(sd)
        f(ones() * (i + 1))
        out.append(shown(p))
    return out


def scaler(wrap: Wrap) -> Any:
    p = clew.ones(2, requires_grad=True)
    opt = clew.optim.SGD([p], 0.1)
    sc = clew.amp.GradScaler("cpu", init_scale=4.0, growth_interval=2)

    def g(x: Any) -> Any:
        opt.zero_grad()
        kept = (p * x).sum()
        sc.scale(kept).backward()
        sc.step(opt)
        sc.update()
        return kept

    f = wrap(g)
    out = []
    for i in range(8):
        out.append(shown(f(ones() * (float("inf") if i == 5 else i))))
        out.append(shown(p))
        out.append(sc.get_scale())
    return out


def scaler_inf_late(wrap: Wrap) -> Any:
    p = clew.ones(2, requires_grad=True)
    opt = clew.optim.SGD([p], 0.1)

    def g(x: Any) -> Any:
        opt.zero_grad()
        kept = (p * x).sum()
        kept.backward()
        opt.step()
        if p.sum() < 0:
            return kept * 0
        return kept

    f = wrap(g)
    out = []
    for i in range(8):
        out.append(shown(f(ones() * i)))
        out.append(shown(p))
    return out


def frozen(wrap: Wrap) -> Any:
    m = nn.Linear(2, 2)
    m.weight.data.fill_(1.0)
    m.bias.data.fill_(1.0)
    f = wrap(m)
    out = []
    for i in range(6):
        m.weight.requires_grad_(i % 2 == 0)
        m.bias.requires_grad_(i < 3)
        y = f(ones())
        out.append(shown(y))
        if y.requires_grad:
            y.sum().backward()
        out.append(shown(m.weight.grad))
        out.append(shown(m.bias.grad))
        m.zero_grad()
    return out


def custom(wrap: Wrap) -> Any:
    f = wrap(lambda x: Custom.apply(x).sum())
    out = []
    for i in range(4):
        x = (ones() * i).requires_grad_()
        y = f(x)
        y.backward()
        out += [shown(y), shown(x.grad)]
    return out


def custom_side(wrap: Wrap) -> Any:
    log = []

    class C(clew.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            log.append(1)
            return g * (3 if g.sum() > 1 else 7)

    f = wrap(lambda x: C.apply(x).sum())
    out = []
    for i in range(4):
        x = (ones() * i).requires_grad_()
        y = f(x) * (1 if i % 2 else -1)
        y.backward()
        out += [shown(y), shown(x.grad)]
    return (out, log)


def custom_branch(wrap: Wrap) -> Any:

    class C(clew.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * (3 if g.sum() > 1 else 7)

    f = wrap(lambda x: C.apply(x).sum())
    out = []
    for i in range(6):
        x = (ones() * i).requires_grad_()
        y = f(x) * (1 if i % 2 else -1)
        y.backward()
        out += [shown(y), shown(x.grad)]
    return out


def ema(wrap: Wrap) -> Any:
    m = nn.Linear(2, 2, bias=False)
    m.weight.data.fill_(1.0)
    e = clew.optim.swa_utils.AveragedModel(
        m, multi_avg_fn=clew.optim.swa_utils.get_ema_multi_avg_fn(0.9)
    )
    opt = clew.optim.SGD(m.parameters(), 0.1)

    def g(x: Any) -> Any:
        opt.zero_grad()
        m(x).sum().backward()
        opt.step()
        e.update_parameters(m)

    f = wrap(g)
    out = []
    for i in range(5):
        f(ones() * i)
        out.append(shown(list(e.parameters())))
        out.append(shown(e.n_averaged))
    return out


def sched_plateau(wrap: Wrap) -> Any:
    p = clew.ones(2, requires_grad=True)
    opt = clew.optim.SGD([p], 0.1)
    s = clew.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=0)

    def g(x: Any) -> Any:
        opt.zero_grad()
        kept = (p * x).sum()
        kept.backward()
        opt.step()
        s.step(kept.item())
        return kept

    f = wrap(g)
    out = []
    for i in range(6):
        out.append(shown(f(ones() * (i + 1))))
        out.append(opt.param_groups[0]["lr"])
    return out


def optimizer_in_closure(wrap: Wrap) -> Any:
    p = clew.ones(2, requires_grad=True)
    opt = clew.optim.LBFGS([p], lr=0.1)

    def g(x: Any) -> Any:

        def c() -> Any:
            opt.zero_grad()
            kept = ((p - x) ** 2).sum()
            kept.backward()
            return kept

        return opt.step(c)

    f = wrap(g)
    out = []
    for i in range(4):
        out.append(shown(f(ones() * i)))
        out.append(shown(p))
    return out


def zero_grad_not_none(wrap: Wrap) -> Any:
    p = clew.ones(2, requires_grad=True)
    opt = clew.optim.SGD([p], 0.1)

    def g(x: Any) -> Any:
        opt.zero_grad(set_to_none=False)
        (p * x).sum().backward()
        opt.step()

    f = wrap(g)
    out = []
    for i in range(5):
        f(ones() * i)
        out.append(shown(p))
        out.append(shown(p.grad))
    return out


SCENARIOS = [
    retain_grad_result,
    retain_grad_inside,
    tensor_hooks,
    hook_inside,
    hook_inside_backward,
    post_acc_hook,
    leaf_hook_step,
    module_bw_hook,
    global_hooks,
    optimizer_groups,
    opt_hyper_flags,
    sched_read,
    opt_state_loaded,
    scaler,
    scaler_inf_late,
    frozen,
    custom,
    custom_side,
    custom_branch,
    ema,
    sched_plateau,
    optimizer_in_closure,
    zero_grad_not_none,
]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.__name__)
@pytest.mark.filterwarnings("ignore")
def test_compiled_is_eager(scenario: Any) -> None:
    assert_agreement(scenario)
