"""LBFGS: Newton's method with a Hessian remembered from the last steps (Liu and Nocedal 1989)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clew import errors
from clew.autograd.grad_mode import enable_grad, no_grad
from clew.core.tensor import Tensor
from clew.ops.pointwise.complex import view_as_real
from clew.ops.shape.joining import cat
from clew.optim.line_search import Point, cubic_minimum, strong_wolfe
from clew.optim.optimizer import Optimizer, ParamsT
from clew.optim.parameterwise import Number, State, check, check_lr


class LBFGS(Optimizer):
    """The quasi-Newton method with limited memory, over all parameters as one vector.

    Each step evaluates `closure` several times; it clears gradients, computes the loss, calls
    backward and returns the loss. One group of parameters only.

    Args:
        params: the parameters
        lr: the learning rate: the length of a step along the direction
        max_iter: the most iterations of one step
        max_eval: the most evaluations of one step; by default, max_iter * 5 / 4
        tolerance_grad: the gradient at which a step ends
        tolerance_change: the change of parameters or loss at which a step ends
        history_size: how many updates are remembered
        line_search_fn: "strong_wolfe", or None for steps of length `lr`

    Example:
        >>> w = nn.Parameter(clew.tensor([1., -2.]))
        >>> optimizer = optim.LBFGS([w], line_search_fn="strong_wolfe")
        >>> def closure():
        ...     optimizer.zero_grad()
        ...     loss = ((w - 3) ** 2).sum()
        ...     loss.backward()
        ...     return loss
        >>> optimizer.step(closure)  # the loss at the start
        tensor(29., grad_fn=<SumBackward0>)
        >>> w.data.round(decimals=3)
        tensor([3., 3.])
    """

    def __init__(
        self,
        params: ParamsT,
        lr: Number = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_lr(lr)
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, defaults)
        check(
            len(self.param_groups) == 1,
            "LBFGS doesn't support per-parameter options (parameter groups)",
        )

    @property
    def _params(self) -> list[Tensor]:
        return self.param_groups[0]["params"]

    def _flat_grad(self) -> Tensor:
        return cat(
            [_flat(p.new_zeros(p.shape) if p.grad is None else p.grad) for p in self._params]
        )

    def _move(self, distance: float, direction: Tensor) -> None:
        """params ← params + distance · direction."""
        start = 0
        for param in self._params:
            real = view_as_real(param) if param.is_complex() else param
            part = direction[start : start + real.numel()]
            real.add_(part.view_as(real), alpha=distance)
            param._storage.writer = "LBFGS optimizer"
            start += real.numel()

    @no_grad()
    def step(self, closure: Callable[[], Any]) -> Any:
        """Up to `max_iter` iterations; gives the loss that `closure` computed first."""
        count = len(self.param_groups)
        if count != 1:
            raise AssertionError(
                f"Expected exactly one param_group, but got {count}" + errors.at_user_line()
            )
        closure = enable_grad()(closure)
        options = self.param_groups[0]
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)

        first_loss = closure()
        loss, grad = float(first_loss), self._flat_grad()
        state["func_evals"] += 1
        if grad.abs().max().item() <= options["tolerance_grad"]:
            return first_loss

        evaluations = 1
        for iteration in range(1, options["max_iter"] + 1):
            state["n_iter"] += 1
            self._choose_direction(state, grad)
            direction = state["d"]
            state["prev_flat_grad"], state["prev_loss"] = grad, loss
            rate = float(options["lr"])
            # The first direction is the bare gradient, whose length says nothing.
            newly = state["n_iter"] == 1
            size = grad.abs().sum().item() if newly else 1.0
            state["t"] = rate / max(1.0, size) if newly else rate
            slope = grad.dot(direction).item()
            if slope > -options["tolerance_change"]:
                break
            last = iteration == options["max_iter"]
            start = Point(0.0, loss, grad, slope)
            left = options["max_eval"] - evaluations
            point, used = self._advance(closure, start, direction, state["t"], last, left)
            loss, grad, state["t"] = point.loss, point.grad, point.t
            evaluations += used
            state["func_evals"] += used
            if last or evaluations >= options["max_eval"] or self._converged(state, loss, grad):
                break
        return first_loss

    def _converged(self, state: State, loss: float, grad: Tensor) -> bool:
        options = self.param_groups[0]
        tolerance = options["tolerance_change"]
        return (
            grad.abs().max().item() <= options["tolerance_grad"]
            or (state["d"] * state["t"]).abs().max().item() <= tolerance
            or abs(loss - state["prev_loss"]) < tolerance
        )

    def _choose_direction(self, state: State, grad: Tensor) -> None:
        """-H·grad, where H is built from the changes of parameters and gradients so far."""
        if state["n_iter"] == 1:
            state.update(d=-grad, old_dirs=[], old_stps=[], ro=[], H_diag=1)
            return
        grad_changes, steps, inverse_products = state["old_dirs"], state["old_stps"], state["ro"]
        change = grad - state["prev_flat_grad"]
        step = state["d"] * state["t"]
        product = change.dot(step)
        history_size = self.param_groups[0]["history_size"]
        if product.item() > 1e-10:
            if len(grad_changes) == history_size:
                for remembered in (grad_changes, steps, inverse_products):
                    remembered.pop(0)
            grad_changes.append(change)
            steps.append(step)
            inverse_products.append(1.0 / product)
            state["H_diag"] = product / change.dot(change)

        history = list(zip(grad_changes, steps, inverse_products))
        shares: list[Any] = [None] * history_size
        direction = -grad
        for index in reversed(range(len(history))):
            change, step, inverse = history[index]
            shares[index] = step.dot(direction) * inverse
            direction.add_(change, alpha=-shares[index].item())
        direction = direction * state["H_diag"]
        for index, (change, step, inverse) in enumerate(history):
            share = shares[index] - change.dot(direction) * inverse
            direction.add_(step, alpha=share.item())
        state["al"], state["d"] = shares, direction

    def _advance(
        self,
        closure: Callable[[], Any],
        start: Point,
        direction: Tensor,
        t: float,
        last: bool,
        evaluations_left: int,
    ) -> tuple[Point, int]:
        """Go along `direction`; where that led, and how often `closure` was called."""
        search = self.param_groups[0]["line_search_fn"]
        if search is None:
            self._move(t, direction)
            if last:
                # Nobody will ask what the loss is there.
                return start._replace(t=t), 0
            loss = float(closure())
            return Point(t, loss, self._flat_grad(), 0.0), 1
        if search != "strong_wolfe":
            raise RuntimeError("only 'strong_wolfe' is supported" + errors.at_user_line())
        origin = [param.clone() for param in self._params]

        def evaluate(t: float) -> Point:
            self._move(t, direction)
            loss, grad = float(closure()), self._flat_grad()
            for param, value in zip(self._params, origin):
                param.copy_(value)
            return Point(t, loss, grad, grad.dot(direction).item())

        longest = direction.abs().max().item()
        steps = min(25, evaluations_left)
        point, used = strong_wolfe(evaluate, start, t, longest, max_steps=steps)
        self._move(point.t, direction)
        return point, used


def _flat(tensor: Tensor) -> Tensor:
    return (view_as_real(tensor) if tensor.is_complex() else tensor).reshape(-1)


def _strong_wolfe(
    obj_func: Any, x: Any, t: Any, d: Tensor, f: Any, g: Tensor, gtd: Any,
    c1: float = 1e-4, c2: float = 0.9, tolerance_change: float = 1e-9, max_ls: int = 25,
) -> tuple[float, Tensor, float, int]:  # fmt: skip
    """The line search in the form in which packages call it.

    `obj_func(x, t, d)` gives the loss and the gradient at a distance `t` from `x` along `d`; `f`,
    `g` and `gtd` are the loss, the gradient and the slope at the start. Returned are the loss, the
    gradient and the distance that were found, and how often the function was called.
    """

    def evaluate(distance: float) -> Point:
        loss, grad = obj_func(x, distance, d)
        return Point(distance, float(loss), grad, float(grad.dot(d)))

    start = Point(0.0, float(f), g, float(gtd))
    longest = float(d.abs().max())
    point, used = strong_wolfe(evaluate, start, float(t), longest, c1, c2, tolerance_change, max_ls)
    return point.loss, point.grad, point.t, used


def _cubic_interpolate(
    x1: Any, f1: Any, g1: Any, x2: Any, f2: Any, g2: Any, bounds: tuple[Any, Any] | None = None
) -> Any:
    """The minimum of the cubic through two places, in the form in which packages call it.

    `x1` and `x2` are places, `f1` and `f2` the losses there, `g1` and `g2` the slopes; without
    `bounds` the minimum is kept between the places.
    """
    unknown: Any = None
    one, two = Point(x1, f1, unknown, g1), Point(x2, f2, unknown, g2)
    return cubic_minimum(one, two, bounds or (min(x1, x2), max(x1, x2)))
