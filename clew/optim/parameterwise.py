"""Optimizers that treat one parameter after the other: all of them but LBFGS.

Such an optimizer says two things: what it remembers of a parameter (`_initial_state`) and how it
changes one (`_update`). Collecting gradients, `maximize`, complex parameters, Tensor options and
`differentiable` are the same for all, and done here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from clew import errors
from clew.autograd.grad_mode import enable_grad
from clew.backend import dtypes
from clew.core.mirror import MIRRORS, reflect
from clew.core.overrides import takes_over
from clew.core.tensor import Tensor
from clew.kernels.compiled.foreach import TYPES, ForeachKernel, Group
from clew.ops.create.from_data import scalar_tensor
from clew.ops.pointwise.complex import view_as_real
from clew.optim.optimizer import Optimizer, _use_grad_for_differentiable
from clew.optim.step_plan import StepPlan, Updated, planned
from clew.source import Place, user_where

State = dict[str, Any]
Options = dict[str, Any]
Number = float | Tensor


class Fused:
    """An optimizer's update as one compiled kernel, which changes many parameters in one call.

    The kernel takes the parameter, the gradient, what is remembered, and numbers; it gives the new
    parameter and the new memories. `of_step` computes the numbers from that of the step, which is
    counted in the state unless `counts` is False, and the options. `fits` says whether the options
    are for this kernel. Numbers that need more of the state are computed by `of_state`.
    """

    def __init__(
        self,
        kernel: ForeachKernel,
        remembered: tuple[str, ...],
        of_step: Callable[[float, Options], tuple[float, ...]] | None = None,
        *,
        fits: Callable[[Options], bool] | None = None,
        counts: bool = True,
        of_state: Callable[[State, Options], tuple[float, ...]] | None = None,
    ) -> None:
        self.kernel = kernel
        self.remembered = remembered
        self.of_step = of_step
        self.fits = fits
        self.counts = counts
        self.of_state = of_state

    def numbers(self, state: State, options: Options) -> tuple[float, ...] | None:
        """The numbers of one parameter's step, which is counted; None if the kernel is not for it.

        Where the options are not for it, nothing is counted.
        """
        if self.fits is not None and not self.fits(options):
            return None
        if self.of_step is None:
            assert self.of_state is not None
            return self.of_state(state, options)
        return self.of_step(count_step(state) if self.counts else 0.0, options)

    def numbers_of(self, states: list[State], options: Options) -> list[tuple[float, ...]]:
        """The numbers of some parameters, where the options are known to be for the kernel."""
        if self.of_step is None:
            assert self.of_state is not None
            return [self.of_state(state, options) for state in states]
        if not self.counts:
            return [self.of_step(0.0, options)] * len(states)
        made: dict[float, tuple[float, ...]] = {}
        found = []
        for step in map(count_step, states):
            if step not in made:
                made[step] = self.of_step(step, options)
            found.append(made[step])
        return found

    def plan(
        self, param: Tensor, grad: Tensor, state: State, options: Options, updates: Updates
    ) -> bool:
        """Put the update among those that are to be done, if the kernel can; False if not."""
        array = param._array
        dtype, shape = array.dtype, array.shape
        if dtype not in TYPES or options.get("differentiable") or not array.flags.writeable:
            return False
        memories: list[Any] = [state.get(name) for name in self.remembered]
        for memory in memories:
            if memory is None:
                return False
        arrays = (array, grad._array, *[memory._array for memory in memories])
        for other in arrays:
            if other.dtype is not dtype or other.shape != shape:
                return False
        numbers = self.numbers(state, options)
        if numbers is None:
            return False
        updates.add(self.kernel, arrays, numbers)
        for written in (param, *memories):
            written._storage.bump("optimizer", updates.where)
        return True


class Updates:
    """Updates of a step that wait until there is one call for all that differ in nothing else."""

    def __init__(self, where: Place | None) -> None:
        self.where = where
        self._waiting: dict[tuple[Any, ...], list[Group]] = {}
        self._memory: set[int] = set()

    def add(self, kernel: ForeachKernel, arrays: Group, numbers: tuple[float, ...]) -> None:
        array = arrays[0]
        owner = id(array if array.base is None else array.base)
        if owner in self._memory:
            # Given twice, or tied to another: the second update goes on from the first.
            self.run()
        self._memory.add(owner)
        key = kernel, array.dtype, numbers
        if key in self._waiting:
            self._waiting[key].append(arrays)
        else:
            self._waiting[key] = [arrays]

    def run(self) -> None:
        waiting, self._waiting = self._waiting, {}
        self._memory.clear()
        for (kernel, _, numbers), groups in waiting.items():
            kernel(groups, numbers)
            if MIRRORS:
                for param, _, *memories in groups:
                    for written in (param, *memories):
                        reflect(written)


class ParameterwiseOptimizer(Optimizer):
    """Runs `_update` for every parameter that has a gradient."""

    # The same update as kernels, for where no graph of it is wanted: the first that finds all that
    # it works on among what is remembered does it.
    _fused: tuple[Fused, ...] = ()

    # What the last step was, for the next one.
    _plan: StepPlan | None = None

    # Whether `_update` takes sparse gradients, and what to do where it does not.
    _takes_sparse = False
    _sparse_advice = ""

    # What an error calls the tensors that a graph would capture.
    _captured = "params and state_steps"

    # Formulas with squares or signs act on real and imaginary parts one by one.
    _complex_as_real = True

    @staticmethod
    def _initial_state(param: Tensor, grad: Tensor, options: Options) -> State:
        """What is remembered of a parameter before its first update."""
        raise NotImplementedError

    @staticmethod
    def _update(param: Tensor, grad: Tensor, state: State, options: Options) -> None:
        """Change `param` and `state` in place."""
        raise NotImplementedError

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter once; gives the loss that `closure` computes."""
        plan = None if closure is not None or self._is_scaled() else self._plan
        writer = f"{type(self).__name__} optimizer"
        if plan is not None and plan.run(self, writer, user_where()):
            return None
        return self._step(closure)

    def _sparse_gradient(self, grad: Tensor) -> Tensor:
        """A sparse gradient with every index once; most optimizers refuse it."""
        if not self._takes_sparse:
            raise RuntimeError(
                f"{type(self).__name__} does not support sparse gradients{self._sparse_advice}"
                + errors.at_user_line()
            )
        merged: Tensor = grad.coalesce()
        return merged

    def _step_of_values(self, param: Tensor, grad: Tensor, options: Options) -> None:
        """The update of a nested parameter: of its values, as of any others."""
        values, of_values = param._parts[0], grad._parts[0]
        state = self.state.get(param)
        if not state:
            state = self._initial_state(values, of_values, options)
            if state:
                self.state[param] = state
        type(self)._update(
            values, -of_values if options.get("maximize") else of_values, state, options
        )
        param._storage.bump("optimizer", None)

    def _is_scaled(self) -> bool:
        """Whether a GradScaler has left its numbers for a fused step."""
        scale, skipped = getattr(self, "grad_scale", None), getattr(self, "found_inf", None)
        return scale is not None or skipped is not None

    @_use_grad_for_differentiable
    def _step(self, closure: Callable[[], Any] | None) -> Any:
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        writer = f"{type(self).__name__} optimizer"
        skipped = self._unscale()
        self._plan = None
        states, updates = self.state, Updates(user_where())
        updated: list[Updated] = []
        all_options: list[Options] = []
        try:
            for number, group in enumerate(self.param_groups):
                options = plain_options(group)
                all_options.append(options)
                for param in group["params"]:
                    grad = param.grad
                    if grad is None:
                        continue
                    if grad._is_unstrided:
                        if grad.is_nested:
                            self._step_of_values(param, grad, options)
                            continue
                        grad = self._sparse_gradient(grad)
                    # Looked up without making an entry: plain SGD remembers nothing.
                    state = states.get(param)
                    if not state:
                        state = in_parts_as(param, self._initial_state(param, grad, options))
                        if state:
                            states[param] = state
                    if skipped and group.get("fused"):
                        continue
                    fused = update_one(type(self), param, grad, state, options, updates)
                    if fused is not None:
                        updated.append((number, param, state, fused))
                    # The error of a backward that comes too late then says what to do.
                    param._storage.writer = writer
        finally:
            # After an error, too: the steps of those before it have been counted.
            updates.run()
        if updated:
            self._plan = planned(self.param_groups, all_options, updated)
        return loss

    def _unscale(self) -> bool:
        """Do what GradScaler asks of fused optimizers; whether their step is to be skipped."""
        skipped = getattr(self, "found_inf", None)
        scale = getattr(self, "grad_scale", None)
        if scale is not None and not (skipped is not None and skipped.item()):
            for group in self.param_groups:
                for param in group["params"] if group.get("fused") else ():
                    if param.grad is not None:
                        param.grad.div_(scale)
        return skipped is not None and bool(skipped.item())

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name, default in self.defaults.items():
                group.setdefault(name, default)
        for remembered in self.state.values():
            steps = remembered.get("step")
            if steps is not None and not isinstance(steps, Tensor):
                remembered["step"] = scalar(float(steps), self.defaults.get("fused"))


def update_one(
    kind: type[ParameterwiseOptimizer],
    param: Tensor,
    grad: Tensor,
    state: State,
    options: Options,
    updates: Updates,
) -> Fused | None:
    """One update of one parameter, whatever its dtype; done now or when `updates` run.

    Gives the kernel that alone does it, if one does.
    """
    if options.get("capturable"):
        raise AssertionError(
            f"If capturable=True, {kind._captured} must be on supported devices. There is no "
            "graph to capture on a CPU: leave capturable out." + errors.at_user_line()
        )
    if options.get("maximize"):
        grad = -grad
    if options.get("differentiable"):
        # The graph of this update keeps what it used: the next one must not write over that.
        state.update({k: v.clone() for k, v in state.items() if isinstance(v, Tensor)})
    if kind._complex_as_real and param._array.dtype.kind in "cW":
        real_state = {k: _as_real(v) for k, v in state.items()}
        kind._update(view_as_real(param), view_as_real(grad), real_state, options)
        return None
    # A class with operations of its own (a manifold's `add_`) is asked for them.
    by_kernel = not grad._is_unstrided and not takes_over(type(param))
    for fused in kind._fused if by_kernel else ():
        if fused.plan(param, grad, state, options, updates):
            return None if options.get("maximize") else fused
    kind._update(param, grad, state, options)
    return None


def in_parts_as(param: Tensor, state: State) -> State:
    """What is remembered of a parameter, in parts over ranks where that is."""
    with_part = getattr(param, "_with_part", None)
    if with_part is None:
        return state
    shape = param._array.shape
    return {
        name: with_part(value)
        if isinstance(value, Tensor) and value._array.shape == shape
        else value
        for name, value in state.items()
    }


def _as_real(value: Any) -> Any:
    return view_as_real(value) if isinstance(value, Tensor) and value.is_complex() else value


def plain_options(group: Options) -> Options:
    """A group's options with numbers in place of Tensors, unless they are differentiated."""
    if group.get("differentiable"):
        if group.get("foreach"):
            raise AssertionError(
                "_foreach ops don't support autograd: leave foreach out." + errors.at_user_line()
            )
        return group
    return {
        name: tuple(map(_number, value)) if name == "betas" else _number(value)
        for name, value in group.items()
    }


def _number(value: Any) -> Any:
    return value.item() if isinstance(value, Tensor) else value


# ---------------------------------------------------------------- pieces of formulas


def scalar(value: float, fused: bool | None = None) -> Tensor:
    """A number as state keeps it: a float64 only where that is the default."""
    wide = not fused and dtypes.get_default_dtype() is dtypes.float64
    return scalar_tensor(value, dtype=dtypes.float64 if wide else dtypes.float32)


def with_values(places: Tensor, values: Tensor) -> Tensor:
    """A sparse tensor with other values at the same places."""
    from clew.ops.sparse.construction import sparse_coo_tensor

    return sparse_coo_tensor(places.indices(), values, places.shape, is_coalesced=True)


def count_step(state: State) -> float:
    """The number of this step, from 1."""
    steps = state["step"]
    array = steps._array
    number: float = array.item() + 1
    array.fill(number)
    steps._storage.bump("optimizer", None)
    return number


def write_scalar(place: Tensor, value: Any) -> float:
    """Put a number into a tensor of the state, and give it as it is there."""
    place._array[...] = value
    place._storage.bump("optimizer", None)
    return place._array.item()


# All of these take Tensors as well as numbers for their factors, so that those can be
# differentiated, too. Each makes one temporary and goes on in place: a second one of that size
# costs more than the arithmetic.


def decayed(param: Tensor, grad: Tensor, weight_decay: Number) -> Tensor:
    """The gradient with that of the penalty weight_decay/2 · |param|² added to it."""
    if isinstance(weight_decay, Tensor):
        # The product keeps its operand, and the parameter itself is about to change.
        return grad + param.clone() * weight_decay
    return (param * weight_decay).add_(grad) if weight_decay else grad


def shrink(param: Tensor, lr: Number, weight_decay: Number) -> None:
    """Decoupled weight decay: param ← (1 - lr · weight_decay) · param."""
    if isinstance(weight_decay, Tensor) or weight_decay:
        param.mul_(1 - lr * weight_decay)


def add_scaled(param: Tensor, update: Tensor, scale: Number) -> None:
    """param ← param + scale · update."""
    param.add_(update * scale)


def add_quotient(param: Tensor, update: Tensor, divisor: Tensor, scale: Number) -> None:
    """param ← param + scale · update / divisor."""
    param.add_((update / divisor).mul_(scale))


def average(mean: Tensor, value: Tensor, beta: Number) -> None:
    """mean ← beta · mean + (1 - beta) · value."""
    mean.add_((value - mean).mul_(1 - beta))


def average_square(mean: Tensor, value: Tensor, beta: Number) -> None:
    """mean ← beta · mean + (1 - beta) · value²."""
    mean.mul_(beta).add_((value * value).mul_(1 - beta))


def root_plus(square: Tensor, eps: Number) -> Tensor:
    """√square + eps."""
    root = square.sqrt()
    # The derivative of a root needs the root as it is.
    return root + eps if root.requires_grad else root.add_(eps)


# ---------------------------------------------------------------- checks of arguments


def check_lr(lr: Number, text: str = "Invalid learning rate: {}") -> None:
    """Refuse a learning rate that is negative, or a tensor of several."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element" + errors.at_user_line())
    check(lr >= 0, text, lr)


def check(holds: Any, text: str, *values: Any) -> None:
    """Refuse an argument, with the line that gave it."""
    if not holds:
        raise ValueError(text.format(*values) + errors.at_user_line())


def check_betas(betas: Sequence[Number]) -> None:
    """Refuse betas outside of [0, 1)."""
    for index, beta in enumerate(betas):
        check(0 <= beta < 1, "Invalid beta parameter at index {}: {}", index, beta)


def check_fused(fused: bool | None, foreach: bool | None, differentiable: bool) -> None:
    """`fused` and `foreach` choose kernels, of which there is one: both are only checked."""
    if fused and differentiable:
        raise RuntimeError("`fused` does not support `differentiable`" + errors.at_user_line())
    if fused and foreach:
        raise RuntimeError(
            "`fused` and `foreach` cannot be `True` together." + errors.at_user_line()
        )


# ---------------------------------------------------------------- functional forms


def update_all(
    kind: type[ParameterwiseOptimizer],
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    state: dict[str, list[Any]],
    **options: Any,
) -> None:
    """The functional form of an optimizer: state as one list per name, changed in place."""
    plain, updates = plain_options(options), Updates(user_where())
    for index, (param, grad) in enumerate(zip(params, grads)):
        own = {
            name: values[index]
            for name, values in state.items()
            if values and values[index] is not None
        }
        update_one(kind, param, grad, own, plain, updates)
        for name, values in state.items():
            if name in own and values:
                values[index] = own[name]
    updates.run()
