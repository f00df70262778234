"""Nodes that refuse: operations without a derivative, writes through views; what is not needed."""

from __future__ import annotations

from typing import Any

from tests.twice import leaf, outcome, raised, twice


@twice
def test_an_operation_without_a_derivative_ends_backward_at_once(lib: Any) -> Any:
    """Before anything that waits, so that leaves behind other paths have got nothing."""
    seen: list[Any] = []
    for step in (lambda x: x // x, lambda x: lib.remainder(3, x), lambda x: lib.heaviside(x, x)):
        w = leaf(lib, [1.0, 2.0])
        refusing = step(leaf(lib, [1.0, 2.0]))
        loss = (w * 2).sum() + refusing.sum()
        seen += [raised(loss.backward), w.grad]
        # Where gradients of others are asked for, nobody comes by.
        loss = (w * refusing).sum()
        seen += [lib.autograd.grad(loss, w, retain_graph=True)]
        seen += [lib.autograd.grad(loss, refusing)]
    return seen


@twice
def test_it_refuses_also_what_is_no_gradient(lib: Any) -> Any:
    class Second(lib.autograd.Function):  # type: ignore[misc]  # of either library
        @staticmethod
        def forward(ctx: Any, first: Any, second: Any) -> Any:
            return second * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return None, g

    x, w = leaf(lib, [4.0, 5.0]), leaf(lib, [1.0, 2.0])
    with lib.no_grad():
        part = x.view(-1)
    return [
        raised(Second.apply(x // 2, w).sum().backward), w.grad,
        raised((part // 3).sum().backward), x.grad,
    ]  # fmt: skip


@twice
def test_a_write_through_a_view_is_freed(lib: Any) -> Any:
    """Whatever the operation that wrote has saved."""

    def filled(x: Any) -> None:
        x[0] = 1

    def copied(x: Any) -> None:
        x[0] = x[1] * 2

    seen: list[Any] = []
    for write in (filled, copied, lambda x: x[0].floor_(), lambda x: x[0].mul_(2)):
        x = leaf(lib, [[1.5, 2.0], [3.0, 4.0]])
        y = x.clone()
        write(y)
        y.sum().backward(retain_graph=True)
        y.sum().backward()
        seen += [raised(y.sum().backward), x.grad]
    return seen


@twice
def test_numbers_are_not_freed(lib: Any) -> Any:
    seen: list[Any] = []
    for function in (
        lib.trapezoid, lambda x: lib.trapezoid(x, dx=2.0), lambda x: x.lerp(x, 0.5).sum(),
        lambda x: (x * 2.5).sum(), lambda x: (x**2).sum(), lambda x: (x / 2).sum(),
        lambda x: x.lerp(x, x).sum(), lambda x: x.mean(),
    ):  # fmt: skip
        loss = function(leaf(lib, [1.0, 2.0]))
        loss.backward()
        seen.append(raised(loss.backward))
    return seen


@twice
def test_what_goes_nowhere_may_be_overwritten(lib: Any) -> Any:
    """A view made under no_grad requires grad as its base does; gradients for it go nowhere."""
    seen: list[Any] = []
    for function in (
        lambda x: x @ x, lambda x: x * x, lambda x: x.exp(), lambda x: x / 2, lambda x: x.sin(),
        lambda x: x.pow(3), lambda x: lib.nn.functional.mse_loss(x, x),
    ):  # fmt: skip
        x = leaf(lib, [1.0, 2.0])
        base = x * 1
        with lib.no_grad():
            part = base.view(-1)
        y = function(part).sum()
        base.atan_()
        seen += [outcome(y.backward, words=0), x.grad]
    return seen


@twice
def test_a_flag_may_be_set_on_a_view_that_lost_its_history(lib: Any) -> Any:
    base = leaf(lib, [1.0, 2.0]) * 1
    with lib.no_grad():
        part = base.view(-1)
    base.trunc_()
    part.requires_grad = True
    return [part.requires_grad, raised(lambda: part.grad_fn)]
