"""Hooks of modules: forward, backward, registration; for one module and for all."""

from __future__ import annotations

import copy
import gc
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import clew
from tests.twice import raised, twice

Log = list[Any]


def noting(log: Log, name: str, answer: Any = None) -> Callable[..., Any]:
    """A hook that notes what it got."""

    def hook(*args: Any) -> Any:
        log.append((name, [type(arg).__name__ for arg in args]))
        return answer

    return hook


def gradients(log: Log, name: str) -> Callable[..., Any]:
    """A backward hook that notes the gradients."""

    def hook(module: Any, grad_input: Any, grad_output: Any) -> None:
        log.append((name, list(grad_input), list(grad_output)))

    return hook


@contextmanager
def registered(*handles: Any) -> Iterator[None]:
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


# -- forward -------------------------------------------------------------------------------------


@twice
def test_order_and_arguments(t: Any) -> Any:
    log: Log = []
    m = t.nn.Linear(2, 2)
    x = t.ones(1, 2)
    handles = [
        m.register_forward_pre_hook(noting(log, "pre")),
        m.register_forward_pre_hook(noting(log, "first pre"), prepend=True),
        m.register_forward_pre_hook(lambda m, args, kwargs: (args, kwargs), with_kwargs=True),
        m.register_forward_hook(noting(log, "post")),
        m.register_forward_hook(noting(log, "first post"), with_kwargs=True, prepend=True),
    ]
    with registered(*handles):
        m(x)
        m(input=x)
    m(x)
    left = [m._forward_hooks, m._forward_hooks_with_kwargs, m._forward_pre_hooks_with_kwargs]
    return log, [len(each) for each in left]


@twice
def test_forward_hooks_replace(t: Any) -> Any:
    m = t.nn.Linear(2, 2)
    x = t.ones(1, 2)
    seen = []
    for register, hook, options in (
        (m.register_forward_pre_hook, lambda m, args: args[0] * 2, {}),
        (m.register_forward_pre_hook, lambda m, args: (args[0] * 3,), {}),
        (m.register_forward_pre_hook, lambda m, a, k: ((a[0] * 4,), k), {"with_kwargs": True}),
        (m.register_forward_hook, lambda m, args, out: out * 2, {}),
        (m.register_forward_hook, lambda m, a, k, out: (out, dict(k)), {"with_kwargs": True}),
    ):
        with registered(register(hook, **options)):
            seen.append(m(x))
    with registered(m.register_forward_pre_hook(lambda m, a, k: 3, with_kwargs=True)):
        return seen, raised(m, x, words=20)


@twice
def test_always_called_hooks(t: Any) -> Any:
    def failing(*args: Any) -> None:
        raise ValueError("the hook fails")

    log: Log = []
    m = t.nn.Linear(2, 2)
    errors = []
    with registered(
        m.register_forward_hook(noting(log, "always"), always_call=True),
        m.register_forward_hook(noting(log, "sometimes")),
    ):
        errors.append(raised(m, t.ones(1, 3)))
        with registered(m.register_forward_hook(failing, always_call=True)):
            errors.append(raised(m, t.ones(1, 3)))
        with registered(m.register_forward_hook(failing, prepend=True)):
            errors.append(raised(m, t.ones(1, 2)))
        m(t.ones(1, 2))
    return errors, log


@twice
def test_handles_as_contexts_and_in_copies(t: Any) -> Any:
    log: Log = []
    m = t.nn.Linear(2, 2)
    with m.register_forward_hook(lambda *args: log.append("called")):
        m(t.ones(1, 2))
        twin = copy.deepcopy(m)
    m(t.ones(1, 2))
    twin(t.ones(1, 2))
    return log, len(m._forward_hooks), len(twin._forward_hooks)


# -- full backward hooks ---------------------------------------------------------------------------


@twice
def test_full_backward_hook_sees_gradients(t: Any) -> Any:
    log: Log = []
    m = t.nn.Linear(2, 2)
    x = t.ones(1, 2, requires_grad=True)
    with registered(m.register_full_backward_hook(gradients(log, "full"))):
        out = m(x)
        name = out.grad_fn.name()
        out.sum().backward()
        m(t.ones(1, 2)).sum().backward()
        with t.no_grad():
            m(x)
    refused = raised(m.register_backward_hook, print, words=20)
    return name, log, x.grad, m.weight.grad, refused


@twice
def test_full_backward_hooks_replace(t: Any) -> Any:
    m = t.nn.Linear(2, 2)
    x = t.ones(1, 2, requires_grad=True)
    seen = []
    for register, hook in (
        (m.register_full_backward_hook, lambda m, gi, go: (gi[0] * 10,)),
        (m.register_full_backward_pre_hook, lambda m, go: (go[0] * 2,)),
    ):
        x.grad = m.weight.grad = None
        with registered(register(hook)):
            m(x).sum().backward()
        seen += [x.grad, m.weight.grad]
    return seen


@twice
def test_answers_that_are_refused(t: Any) -> Any:
    m = t.nn.Linear(2, 2)
    x = t.ones(1, 2, requires_grad=True)
    fixed = t.ones(1, 2)
    seen = []
    for register, hook, given in (
        (m.register_full_backward_hook, lambda m, gi, go: (gi[0], gi[0]), x),
        (m.register_full_backward_hook, lambda m, gi, go: (fixed,), fixed),
        (m.register_full_backward_hook, lambda m, gi, go: (None,), fixed),
        (m.register_full_backward_pre_hook, lambda m, go: (go[0], 1), x),
    ):
        with registered(register(hook)):
            seen.append(raised(m(given).sum().backward, words=25))
    return seen


def test_one_gradient_may_come_without_a_tuple() -> None:
    m = clew.nn.Linear(2, 2)
    x = clew.ones(1, 2, requires_grad=True)
    plain = clew.autograd.grad(m(x).sum(), x)[0]
    with registered(m.register_full_backward_hook(lambda m, gi, go: gi[0] * 10)):
        m(x).sum().backward()
    assert clew.equal(x.grad, plain * 10)


@twice
def test_order_of_backward_hooks(t: Any) -> Any:
    log: Log = []
    m = t.nn.Linear(2, 2)
    with registered(
        m.register_full_backward_pre_hook(noting(log, "pre")),
        m.register_full_backward_hook(noting(log, "post")),
        m.register_full_backward_hook(noting(log, "first post"), prepend=True),
        m.register_full_backward_pre_hook(noting(log, "first pre"), prepend=True),
    ):
        m(t.ones(1, 2, requires_grad=True)).sum().backward()
    return log


@twice
def test_several_inputs_and_outputs(t: Any) -> Any:
    class Several(t.nn.Module):
        def forward(self, a: Any, b: Any, c: Any = 3) -> Any:
            return a * b, a.sum(), "text", {"inside": a}

    log: Log = []
    m = Several()
    m.register_full_backward_hook(gradients(log, "several"))
    a, b = t.ones(2, requires_grad=True), t.ones(2)
    m(a, b)[0].sum().backward()
    both = m(a, b)
    (both[0].sum() + both[1]).backward()
    m(a, 5)[1].backward()
    inside = m(a, 5, c=a)[3]["inside"]
    inside.sum().backward()
    return log, inside.grad_fn.name(), a.grad


@twice
def test_outputs_that_hooks_cannot_see(t: Any) -> Any:
    class InDict(t.nn.Module):
        def forward(self, x: Any) -> Any:
            return {"out": x * 2}

    class HandedThrough(t.nn.Module):
        def forward(self, x: Any) -> Any:
            return x

    log: Log = []
    a = t.ones(2, requires_grad=True)
    for m, key in ((InDict(), "out"), (HandedThrough(), None)):
        m.register_full_backward_hook(gradients(log, type(m).__name__))
        out = m(a)
        (out[key] if key else out).sum().backward()
    return log, a.grad


def test_a_hooked_module_is_freed_with_its_graph() -> None:
    m = clew.nn.Linear(2, 2)
    m.register_full_backward_hook(lambda *args: None)
    gone = weakref.ref(m)
    out = m(clew.ones(1, 2, requires_grad=True))
    gc.disable()
    try:
        del m
        out.sum().backward()
        del out
        assert gone() is None
    finally:
        gc.enable()


# -- regular backward hooks ------------------------------------------------------------------------


@twice
def test_regular_backward_hook(t: Any) -> Any:
    log: Log = []
    m = t.nn.Linear(2, 2)
    m.register_backward_hook(noting(log, "regular"))
    m(t.ones(1, 2, requires_grad=True)).sum().backward()
    return log, raised(m.register_full_backward_hook, print, words=20)


@twice
def test_regular_backward_hooks_see_the_last_node(t: Any) -> Any:
    a = t.ones(2, requires_grad=True)
    log: Log = []
    for forward, arguments, pick in (
        (lambda self, x: (x * 2).tanh(), (a,), lambda out: out),
        (lambda self, x: ((x * 2).tanh(), x), (a,), lambda out: out[0]),
        (lambda self, x: ((x * 2), x * 3), (a,), lambda out: out[0]),
        (lambda self, x: [(x * 2).tanh()], (a,), lambda out: out[0]),
        (lambda self, x: {"k": (x * 2).tanh()}, (a,), lambda out: out["k"]),
        (lambda self, x, y: x[0] * y, ([a], a), lambda out: out),
        (lambda self, x: x * 2, (a * 1,), lambda out: out),
    ):
        m = type("Own", (t.nn.Module,), {"forward": forward})()
        m.register_backward_hook(gradients(log, "regular"))
        pick(m(*arguments)).sum().backward()
    return log


# -- hooks of all modules --------------------------------------------------------------------------


@twice
def test_global_hooks(t: Any) -> Any:
    log: Log = []
    every = t.nn.modules.module
    m = t.nn.Linear(2, 2)
    m.register_forward_hook(noting(log, "own"))
    m.register_full_backward_hook(noting(log, "own backward"))
    with registered(
        every.register_module_forward_pre_hook(noting(log, "pre")),
        every.register_module_forward_hook(noting(log, "post")),
        every.register_module_full_backward_hook(noting(log, "backward")),
        every.register_module_full_backward_pre_hook(noting(log, "backward pre")),
    ):
        refused = raised(every.register_module_backward_hook, print, words=20)
        t.nn.Sequential(m)(t.ones(1, 2, requires_grad=True)).sum().backward()
    m(t.ones(1, 2))
    return log, refused


@twice
def test_global_hooks_with_options(t: Any) -> Any:
    log: Log = []
    m = t.nn.Linear(2, 2)
    register = t.nn.modules.module.register_module_forward_hook
    with registered(register(noting(log, "keywords"), with_kwargs=True)):
        m(input=t.ones(1, 2))
    with registered(register(noting(log, "always"), always_call=True)):
        return raised(m, t.ones(1, 3)), log


@twice
def test_registration_hooks(t: Any) -> Any:
    every = t.nn.modules.module
    log: Log = []

    class Own(t.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = t.nn.Parameter(t.ones(1))
            self.b = t.nn.Buffer(t.ones(1))
            self.m = t.nn.Identity()
            self.b = t.ones(1)
            self.register_parameter("q", None)
            self.register_buffer("r", None)
            self.add_module("n", None)
            self.w = self.m = self.b = None

    with registered(
        every.register_module_parameter_registration_hook(
            lambda m, name, p: log.append((name, "parameter"))
        ),
        every.register_module_buffer_registration_hook(
            lambda m, name, b: log.append((name, "buffer"))
        ),
        every.register_module_module_registration_hook(
            lambda m, name, c: log.append((name, "module"))
        ),
    ):
        Own()
    with registered(
        every.register_module_parameter_registration_hook(
            lambda m, name, p: t.nn.Parameter(t.zeros(p.shape))
        )
    ):
        return log, t.nn.Linear(2, 2).weight
