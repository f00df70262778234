"""Gradients of functions by reverse mode: grad, grad_and_value, vjp.

The arguments are replaced by aliases that require grad; the function runs and leaves a graph; the
gradient is that of the aliases. If an argument has a history of its own, its alias is a step in it,
so that gradients of gradients, and gradients outside of the transform, follow.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, ClassVar, Self

import numpy as np

from clew import errors
from clew.autograd.backward import grad as autograd_grad
from clew.autograd.graph import IN_TRANSFORM, disable_saved_tensors_hooks
from clew.core.engine import reachable
from clew.core.interception import note_constant
from clew.core.node import Node, live_edge
from clew.core.state import local
from clew.core.storage import INFERENCE
from clew.core.tensor import Tensor, alias, constant, tangents_of, wrap
from clew.func.captures import guarded
from clew.func.trees import Spec, flatten, map_leaves, unflatten
from clew.interrupts import uninterrupted
from clew.ops.batching.level import has_history, lifted
from clew.ops.shape.views import ALIAS

Func = Callable[..., Any]
Argnums = int | tuple[int, ...]


class recording:
    """Grad mode on, inference mode off, whatever they are outside: a transform needs a record.

    `watched` says whether grad mode was on, so that those outside may want gradients of the result.
    """

    def __enter__(self) -> Self:
        state = local.state
        self.watched, self.inference = state.grad_enabled, state.inference
        state.grad_enabled, state.inference = True, False
        return self

    @uninterrupted
    def __exit__(self, *exc: object) -> None:
        state = local.state
        state.grad_enabled, state.inference = self.watched, self.inference


class Tracking(recording):
    """A function runs for its gradients: the aliases of its arguments, and what else it uses."""

    # Whose alias an end of the graph is: only those of functions that still run concern others.
    owners: ClassVar[weakref.WeakKeyDictionary[Node, Tracking]] = weakref.WeakKeyDictionary()

    def __init__(self) -> None:
        self.runs = False
        # What has been found of results, by the node that each comes from. Held weakly: `owners`
        # would keep a graph alive that leads from here to its own ends.
        self.foreign: weakref.WeakKeyDictionary[Node, bool] = weakref.WeakKeyDictionary()

    def __enter__(self) -> Self:
        self.runs = True
        return super().__enter__()

    @uninterrupted
    def __exit__(self, *exc: object) -> None:
        self.runs = False
        super().__exit__()

    def track(self, leaf: Any) -> Tensor:
        """An argument as one that requires grad."""
        if not isinstance(leaf, Tensor):
            raise ValueError(
                f"Thing passed to transform API must be Tensor, got {type(leaf)}"
                + errors.at_user_line()
            )
        if not (leaf.dtype.is_floating_point or leaf.dtype.is_complex):
            raise RuntimeError(
                "only Tensors of floating point dtype can require gradients\n  The argument has "
                f"dtype {leaf.dtype}: convert it, or leave it out of argnums."
                + errors.at_user_line()
            )
        leaf = lifted(leaf)
        if leaf.requires_grad:
            # Also without grad mode: a pull-back may be called where it is on.
            tracked: Tensor = ALIAS(leaf)
            return tracked
        tracked = _without_history(leaf)
        if tracked._storage is INFERENCE:
            tracked._storage = local.state.new_storage()
        tracked._reason = None
        return self.own(tracked)

    def own(self, leaf: Tensor) -> Tensor:
        """Make a tensor that nobody else has an end of the graph."""
        leaf._requires_grad = True
        edge = live_edge(leaf)
        assert edge is not None
        self.owners[edge[0]] = self
        return leaf

    def is_foreign(self, tensor: Tensor) -> bool:
        """Whether a result depends on something outside of this call that requires grad."""
        edge = live_edge(tensor)
        if edge is None:
            return False
        node = edge[0]
        if node not in self.foreign:
            ends = [each for each in reachable([node]) if each.is_accumulator]
            self.foreign[node] = any(map(self.is_of_others, ends))
        return self.foreign[node]

    def is_of_others(self, end: Node) -> bool:
        owner = self.owners.get(end)
        return owner is None or (owner is not self and owner.runs)

    def wants_graph(self, sources: Sequence[Any]) -> bool:
        """Whether gradients computed from these are to have a graph of their own."""
        tensors = [each for each in sources if isinstance(each, Tensor)]
        return has_history() or any(map(self.is_foreign, tensors))

    def released(self, value: Any) -> Any:
        """A result as those outside of this call see it: without the history that is only ours."""
        if not isinstance(value, Tensor) or not value.requires_grad:
            return value
        return value if self.watched and self.is_foreign(value) else constant(value)

    def released_aux(self, aux: Any) -> Any:
        """What a function returns beside its value, as those outside see it."""
        return map_leaves(self.released, checked_aux(aux))


def _without_history(leaf: Tensor) -> Tensor:
    """The same tensor as a new leaf, with its tangents if it has any."""
    if not tangents_of(leaf):
        return alias(leaf)
    # Without a history inside of vmap, an alias of what all examples share is not lifted.
    tracked = lifted(ALIAS(leaf))
    tracked._view = tracked._node = None
    tracked._output_nr = 0
    return tracked


def without_hooks() -> disable_saved_tensors_hooks:
    """No hooks on saved tensors: what they give back may lack history and tangents."""
    return disable_saved_tensors_hooks(IN_TRANSFORM)


def gradients_of(
    tracking: Tracking, outs: Sequence[Any], inputs: Sequence[Tensor], cotangents: Sequence[Any],
    *, watched: bool, retain_graph: bool = False, create_graph: bool | None = None,
) -> list[Tensor]:  # fmt: skip
    """The gradients of outputs with respect to the aliases; zeros where there is no path.

    `watched`: whether anything outside can want gradients of them.
    """
    pairs = [
        (out, cotangent)
        for out, cotangent in zip(outs, cotangents, strict=True)
        if isinstance(out, Tensor) and out.requires_grad
    ]
    if not pairs:
        return [note_constant(wrap(np.zeros_like(each._array))) for each in inputs]
    roots = [out for out, _ in pairs]
    given = [cotangent for _, cotangent in pairs]
    wanted = watched if create_graph is None else create_graph
    graph = wanted and tracking.wants_graph([*roots, *given])
    found = autograd_grad(
        roots, inputs, given, create_graph=graph, retain_graph=graph or retain_graph,
        allow_unused=True,
    )  # fmt: skip
    return [
        note_constant(wrap(np.zeros_like(given._array))) if gradient is None else gradient
        for gradient, given in zip(found, inputs, strict=True)
    ]


# -- which arguments ---------------------------------------------------------------------------


def chosen(args: tuple[Any, ...], argnums: Any) -> Any:
    """The arguments to differentiate by."""
    if isinstance(argnums, int):
        return args[_checked_argnum(argnums, len(args))]
    if isinstance(argnums, tuple):
        if not argnums:
            raise RuntimeError("argnums must be non-empty" + errors.at_user_line())
        numbers = tuple(_checked_argnum(each, len(args)) for each in argnums)
        if len(set(numbers)) < len(numbers):
            raise RuntimeError(
                f"argnums elements must be unique, got {numbers}" + errors.at_user_line()
            )
        return tuple(args[number] for number in numbers)
    raise RuntimeError(
        f"argnums must be int or Tuple[int, ...], got: {type(argnums)}" + errors.at_user_line()
    )


def _checked_argnum(argnum: Any, count: int) -> int:
    if not isinstance(argnum, int):
        raise RuntimeError(f"argnum must be int, got: {type(argnum)}" + errors.at_user_line())
    if not -count <= argnum < count:
        raise RuntimeError(
            f"Got argnum={argnum}, but only {count} positional inputs" + errors.at_user_line()
        )
    return argnum % count


def replaced(args: tuple[Any, ...], argnums: Argnums, values: Any) -> tuple[Any, ...]:
    """The arguments with others in place of those to differentiate by."""
    count = len(args)
    if isinstance(argnums, int):
        at = {argnums % count: values}
    else:
        at = {number % count: value for number, value in zip(argnums, values, strict=True)}
    return tuple(at.get(index, value) for index, value in enumerate(args))


# -- grad --------------------------------------------------------------------------------------


def grad_and_value(func: Func, argnums: Argnums = 0, has_aux: bool = False) -> Func:
    """A function that gives the gradient of `func`, and its value.

    Args:
        func: a function of tensors whose result is a scalar
        argnums: the number of the argument to differentiate by, or several
        has_aux: `func` returns a pair of the value and something to pass on

    Example:
        >>> clew.func.grad_and_value(lambda x: x**2)(clew.tensor(3.))
        (tensor(6.), tensor(9.))
    """

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        leaves, spec = flatten(chosen(args, argnums))
        with without_hooks(), Tracking() as tracking:
            tracked = [tracking.track(leaf) for leaf in leaves]
            given = replaced(args, argnums, unflatten(tracked, spec))
            with guarded(flatten(given)[0], leaves):
                result = func(*given, **kwargs)
            out, aux = split_aux(result, has_aux, "grad_and_value(f)(*args)")
            _check_scalar(out)
            grads = gradients_of(tracking, [out], tracked, [None], watched=tracking.watched)
        gradient = unflatten(grads, spec)
        value = tracking.released(out)
        if has_aux:
            return gradient, (value, tracking.released_aux(aux))
        return gradient, value

    return wrapper


def split_aux(result: Any, has_aux: bool, what: str) -> tuple[Any, Any]:
    if not has_aux:
        return result, None
    if not (isinstance(result, tuple) and len(result) == 2):
        raise RuntimeError(
            f"{what}: output of function f should be a tuple: (output, aux) if has_aux is True"
            + errors.at_user_line()
        )
    return result


def checked_aux(aux: Any) -> Any:
    """What a function returns beside its value: containers of tensors."""
    for leaf in flatten(aux)[0]:
        if not isinstance(leaf, Tensor):
            raise RuntimeError(
                f"Expected tensors, got unsupported type {type(leaf)}\n  With has_aux=True all "
                "that the function returns beside its value must be tensors" + errors.at_user_line()
            )
    return aux


def _check_scalar(out: Any) -> None:
    what = "grad_and_value(f)(*args): Expected f(*args) to return a"
    if not isinstance(out, Tensor):
        raise RuntimeError(f"{what} Tensor, got {type(out)}" + errors.at_user_line())
    if out._array.ndim:
        raise RuntimeError(
            f"{what} scalar Tensor, got tensor with {out._array.ndim} dims. Maybe you wanted to "
            "use the vjp or jacrev APIs instead?" + errors.at_user_line()
        )


def grad(func: Func, argnums: Argnums = 0, has_aux: bool = False) -> Func:
    """A function that gives the gradient of `func`, whose result is a scalar.

    Args:
        func: a function of tensors
        argnums: the number of the argument to differentiate by, or several
        has_aux: `func` returns a pair of the value and something to pass on

    Example:
        >>> clew.func.grad(clew.func.grad(lambda x: x**3))(clew.tensor(2.))
        tensor(12.)
        >>> clew.func.grad(lambda x, y: x * y, argnums=(0, 1))(clew.tensor(2.), clew.tensor(5.))
        (tensor(5.), tensor(2.))
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        gradient, value = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return wrapper


def value_and_grad(func: Func, argnums: Argnums = 0, has_aux: bool = False) -> Func:
    """A function that gives the value of `func`, and its gradient."""
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        gradient, value = both(*args, **kwargs)
        return value, gradient

    return wrapper


# -- vjp ---------------------------------------------------------------------------------------


class Linearization:
    """The graph that a function left behind, ready to pull cotangents back through."""

    def __init__(
        self, func: Func, primals: tuple[Any, ...], has_aux: bool, what: str,
        more: Sequence[Any] | None = (),
    ) -> None:  # fmt: skip
        """`more`: what the function may write to besides; None where it may write to anything."""
        leaves, self.input_spec = flatten(primals)
        with nullcontext() if more is None else without_hooks(), Tracking() as self.tracking:
            self.inputs = [self.tracking.track(leaf) for leaf in leaves]
            given = [*self.inputs, *(more or ())]
            with nullcontext() if more is None else guarded(given, leaves):
                result = func(*unflatten(self.inputs, self.input_spec))
        result, self.aux = split_aux(result, has_aux, what)
        self.outs, self.output_spec = flatten(result)
        check_tensors(self.outs, what)

    def value(self) -> Any:
        return unflatten([self.tracking.released(out) for out in self.outs], self.output_spec)

    def released_aux(self) -> Any:
        return self.tracking.released_aux(self.aux)

    def pull_back(
        self, cotangents: Sequence[Any], retain_graph: bool = True, create_graph: bool | None = None
    ) -> list[Tensor]:
        with recording() as record:
            return gradients_of(
                self.tracking, self.outs, self.inputs, cotangents, watched=record.watched,
                retain_graph=retain_graph, create_graph=create_graph,
            )  # fmt: skip

    def push_forward(self, tangents: Sequence[Tensor]) -> list[Tensor]:
        """The products of the Jacobian with tangents: the pull-back, transposed."""
        roots = [out for out in self.outs if out.requires_grad]
        if not roots:
            return [note_constant(wrap(np.zeros_like(out._array))) for out in self.outs]
        with recording() as record:
            graph = record.watched and self.tracking.wants_graph([*self.outs, *tangents])
            cotangents = [
                self.tracking.own(lifted(note_constant(wrap(np.zeros_like(out._array)))))
                for out in self.outs
            ]
            pulled = autograd_grad(
                roots, self.inputs,
                [c for c, out in zip(cotangents, self.outs, strict=True) if out.requires_grad],
                create_graph=True, allow_unused=True, materialize_grads=True,
            )  # fmt: skip
            along = [(g * t).sum() for g, t in zip(pulled, tangents, strict=True)]
            along = [each for each in along if each.requires_grad]
            if not along:
                return [note_constant(wrap(np.zeros_like(out._array))) for out in self.outs]
            found = autograd_grad(
                sum(along[1:], along[0]), cotangents, retain_graph=True, allow_unused=True,
                materialize_grads=True, create_graph=graph,
            )  # fmt: skip
        return list(found)


def check_tensors(outs: Sequence[Any], what: str) -> None:
    if not outs or (len(outs) == 1 and outs[0] is None):
        raise RuntimeError(
            f"{what}: Expected f to be a function that has non-empty output (got output = {outs})"
            + errors.at_user_line()
        )
    for out in outs:
        if not isinstance(out, Tensor):
            raise RuntimeError(
                f"{what}: expected f(*primals) to return only tensors, got unsupported type "
                f"{type(out)}" + errors.at_user_line()
            )


def vjp(func: Func, *primals: Any, has_aux: bool = False) -> Any:
    """The value of `func`, and a function that pulls cotangents of it back to the arguments.

    Args:
        func: a function of tensors
        primals: its arguments
        has_aux: `func` returns a pair of the value and something to pass on

    Example:
        >>> value, pull_back = clew.func.vjp(lambda x: x**2, clew.tensor([1., 2.]))
        >>> pull_back(clew.tensor([1., 10.]))
        (tensor([ 2., 40.]),)
    """
    done = Linearization(func, primals, has_aux, "vjp(f, *primals)")

    def vjp_fn(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        leaves, spec = flatten(cotangents)
        if spec != done.output_spec:
            raise RuntimeError(_structure_text(done.output_spec, spec) + errors.at_user_line())
        return unflatten(done.pull_back(leaves, retain_graph, create_graph), done.input_spec)

    if has_aux:
        return done.value(), vjp_fn, done.released_aux()
    return done.value(), vjp_fn


def _structure_text(expected: Spec, found: Spec) -> str:
    return (
        "Expected pytree structure of cotangents to be the same as pytree structure of outputs to "
        f"the function. cotangents: {found}, primal output: {expected}"
    )
