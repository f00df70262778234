"""`backward` and `grad`: checks on what was asked for, then the engine."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from clew import errors
from clew.autograd.explain import why_no_history
from clew.autograd.graph import GradientEdge
from clew.backend import dtypes
from clew.core import engine
from clew.core.interception import note_constant
from clew.core.meta import memory as meta_memory
from clew.core.meta.classes import made_like
from clew.core.meta.handlers import is_wrapper
from clew.core.no_history import NoHistory
from clew.core.node import Edge, Nowhere, live_edge, retain
from clew.core.state import local
from clew.core.tensor import Size, Tensor, wrap
from clew.observer import active
from clew.ops import batching
from clew.ops.define import vmap_errors
from clew.source import user_stacklevel, user_where

Tensors = Tensor | GradientEdge | Sequence[Tensor | GradientEdge]
Inputs = Tensors | dict[Any, Tensor]


def inside_transform() -> bool:
    """Whether a function runs that vmap, grad or another transform was given."""
    return local.state.transforms > 0


def as_tuple(value: Any) -> tuple[Any, ...]:
    if value is None:
        return ()
    if isinstance(value, (Tensor, GradientEdge)) or not hasattr(value, "__iter__"):
        return (value,)
    return tuple(value)


def inputs_of(inputs: Any, function: str) -> tuple[Any, ...]:
    """What a caller gave as `inputs`: one, several, or a dict of them."""
    if isinstance(inputs, Mapping) and type(inputs) is not dict:
        raise TypeError(
            f"`inputs` argument to `{function}()` must be a dict, not {type(inputs).__name__}. "
            "Other Mapping types are not supported." + errors.at_user_line()
        )
    found = tuple(inputs.values()) if type(inputs) is dict else as_tuple(inputs)
    if not found:
        raise RuntimeError(f"`inputs` argument to `{function}()` cannot be empty.")
    return found


def backward(
    tensors: Tensors,
    grad_tensors: Tensors | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Inputs | None = None,
) -> None:
    """Add the gradients of the leaves that `tensors` were computed from into their `.grad`.

    Args:
        tensors: a tensor, or several, with history
        grad_tensors: the gradient of each; may be left out for tensors with one element
        retain_graph: keep the graph for another backward; by default, as `create_graph`
        create_graph: record the computation of the gradients, for higher derivatives
        grad_variables: deprecated; the old name of `grad_tensors`
        inputs: the tensors whose `.grad` is to be added to, also in a dict; by default, all leaves

    Example:
        >>> x = clew.tensor([1., 2.], requires_grad=True)
        >>> clew.autograd.backward(x**2, clew.tensor([1., 10.]))
        >>> x.grad
        tensor([ 2., 40.])
    """
    wanted = () if inputs is None else inputs_of(inputs, "backward")
    roots = as_tuple(tensors)
    is_batched = local.state.intercept is not None and batching.level.innermost() is not None
    if inside_transform() or is_batched:
        raise vmap_errors.backward()
    for tensor in wanted:
        if not isinstance(tensor, Tensor):
            continue
        if live_edge(tensor) is not None:
            retain(tensor)
        else:
            raise RuntimeError(
                "can't retain_grad on Tensor that has requires_grad=False\n"
                "  It was given to backward(inputs=...)." + errors.at_user_line()
            )
    given = as_tuple(grad_tensors if grad_tensors is not None else grad_variables)
    edges, grads = root_edges(roots, given or (None,) * len(roots), create_graph)
    targets = None if inputs is None else target_edges(wanted)
    engine.backward(
        edges,
        grads,
        retain_graph=create_graph if retain_graph is None else retain_graph,
        create_graph=create_graph,
        targets=targets,
        accumulate=True,
        outputs=roots,
    )


# What backward from a number starts with.
_ONES = {np.dtype(kind): np.ones((), kind) for kind in (np.float32, np.float64)}


def root_edges(
    roots: tuple[Any, ...], given: tuple[Any, ...], create_graph: bool
) -> tuple[list[Edge], list[Tensor]]:
    for each in given:
        if each is not None and not isinstance(each, Tensor):
            raise TypeError(
                f"gradients can be either Tensors or None, but got {type(each).__name__}"
            )
    if len(given) != len(roots):
        raise RuntimeError(f"got {len(roots)} tensors and {len(given)} gradients")
    edges: list[Edge] = []
    grads: list[Tensor] = []
    if len(roots) == 1 and given[0] is None:
        (loss,) = roots
        if type(loss) is Tensor and loss._view is None and loss._node is not None:
            layout = loss._layout
            one = None if layout.shape else _ONES.get(layout.dtype)
            if one is not None and not meta_memory.is_meta(layout) and loss._requires_grad:
                # A number of a usual type: what most programs have.
                return [(loss._node, loss._output_nr)], [note_constant(wrap(one.copy()))]
    for index, (root, grad) in enumerate(zip(roots, given, strict=True)):
        if isinstance(root, GradientEdge):
            edges.append((root.node, root.output_nr))
            grads.append(initial_grad(*root.node._meta[root.output_nr], grad, index))
            continue
        edge = live_edge(root)
        if edge is None or isinstance(edge[0], Nowhere):
            if edge is not None:
                # What starts from it is asked for first.
                initial_grad(root._layout.shape, root._layout.dtype, grad, index)
            observer = active.observer
            if observer is not None:
                observer.backward_without_history(root)
            raise errors.no_history(index, why_no_history(root))
        edges.append(edge)
        layout = root._layout
        is_meta = meta_memory.is_meta(layout)
        if grad is None and is_meta and is_wrapper(root):
            grad = made_like("ones_like", root, (), {})
        grads.append(initial_grad(layout.shape, layout.dtype, grad, index, is_meta))
    return edges, grads


def initial_grad(
    shape: tuple[int, ...], dtype: np.dtype, grad: Any, index: int, is_meta: bool = False
) -> Tensor:
    """The gradient that backward starts from: ones for a scalar, else what the caller gave.

    `shape` and `dtype` are those of the output, the `index`-th of its kind; `is_meta` says that it
    is on the meta device.
    """
    if grad is None:
        if math.prod(shape) != 1:
            raise RuntimeError(
                "grad can be implicitly created only for scalar outputs\n"
                f"  This output has shape {errors.shape_list(shape)}: reduce it (`.mean()` "
                "or `.sum()`), or pass `gradient=` with its shape." + errors.at_user_line()
            )
        if dtype.kind in "cW":
            raise RuntimeError(
                "grad can be implicitly created only for real scalar outputs but got "
                f"{dtypes.BY_NUMPY[dtype]}" + errors.at_user_line()
            )
        one = meta_memory.empty(shape, dtype) if is_meta else np.ones(shape, dtype)
        seed: Tensor = note_constant(wrap(one))
        return seed
    if grad._layout.shape != shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{index}] has a shape of {grad.shape} and "
            f"output[{index}] has a shape of {Size(shape)}." + errors.at_user_line()
        )
    if (grad._layout.dtype.kind in "cW") != (dtype.kind in "cW"):
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same dtype. "
            f"Mismatch in dtype: grad_output[{index}] has a dtype of {grad.dtype} and "
            f"output[{index}] has a dtype of {dtypes.BY_NUMPY[dtype]}." + errors.at_user_line()
        )
    result: Tensor = grad
    return result


def target_edges(inputs: tuple[Any, ...]) -> list[Edge]:
    edges = []
    for tensor in inputs:
        edge = tensor if isinstance(tensor, tuple) else live_edge(tensor)
        if edge is None:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
        edges.append((edge[0], edge[1]))
    return edges


def grad(
    outputs: Tensors,
    inputs: Inputs,
    grad_outputs: Tensors | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Any:
    """The gradients of `outputs` with respect to `inputs`; nothing is accumulated.

    Args:
        outputs: a tensor, or several, with history
        inputs: the tensors to differentiate by; for a dict of them, the result is one
        grad_outputs: the gradient of each output; may be left out for outputs with one element
        retain_graph: keep the graph for another backward; by default, as `create_graph`
        create_graph: record the computation of the gradients, for higher derivatives
        only_inputs: deprecated and ignored
        allow_unused: give None for an input that the outputs do not depend on, instead of raising
        is_grads_batched: the first dimension of `grad_outputs` counts several, as vmap would
        materialize_grads: give zeros instead of None

    Example:
        >>> x = clew.tensor(3., requires_grad=True)
        >>> (first,) = clew.autograd.grad(x**3, x, create_graph=True)
        >>> first, clew.autograd.grad(first, x)
        (tensor(27., grad_fn=<MulBackward0>), (tensor(18.),))
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
            "allow_unused=False."
        )
    if not only_inputs:
        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To "
            "accumulate gradient for other parts of the graph, please use torch.autograd.backward.",
            FutureWarning,
            stacklevel=user_stacklevel(),
        )
    roots, wanted = as_tuple(outputs), inputs_of(inputs, "grad")
    retain = create_graph if retain_graph is None else retain_graph
    given = as_tuple(grad_outputs) or (None,) * len(roots)
    if is_grads_batched:
        result = _batched_grad(roots, wanted, given, retain, create_graph)
    else:
        result = _grads_of(roots, wanted, given, retain, create_graph)
    if not create_graph:
        _say_why(result)
    for index, (found, each) in enumerate(zip(result, wanted, strict=True)):
        if found is None:
            result[index] = _missing_grad(
                each, index, allow_unused, materialize_grads, create_graph
            )
    return dict(zip(inputs, result, strict=True)) if type(inputs) is dict else tuple(result)


def _say_why(grads: list[Tensor | None]) -> None:
    """Gradients whose computation was not recorded: that is why they have no history."""
    reason = NoHistory("gradient", "grad() without create_graph=True", user_where())
    for grad in grads:
        if isinstance(grad, Tensor) and grad._node is None and grad._reason is None:
            grad._reason = reason


def _grads_of(
    roots: tuple[Any, ...],
    wanted: tuple[Any, ...],
    given: tuple[Any, ...],
    retain_graph: bool,
    create_graph: bool,
) -> list[Tensor | None]:
    """The gradients that reach the wanted tensors or edges; None where there is none."""
    edges, grads = root_edges(roots, given, create_graph)
    targets = target_edges(wanted)
    captured = engine.backward(
        edges,
        grads,
        retain_graph=retain_graph,
        create_graph=create_graph,
        targets=targets,
        accumulate=False,
        outputs=roots,
    )
    return [captured.get(edge) for edge in targets]


def _missing_grad(
    target: Any, index: int, allow_unused: bool | None, materialize: bool, create_graph: bool
) -> Tensor | None:
    """What stands for the gradient of a tensor that was not used."""
    if materialize:
        if not isinstance(target, Tensor):
            raise RuntimeError(
                "materialize_grads cannot be used when the given input is a GradientEdge"
                + errors.at_user_line()
            )
        zeros = note_constant(wrap(np.zeros_like(target._array)))
        zeros._requires_grad = create_graph
        return zeros
    if not allow_unused:
        raise RuntimeError(
            f"The differentiated Tensor at index {index} appears to not have been used in the "
            "graph. Set allow_unused=True if this is the desired behavior.\n"
            f"  Its shape is {_shape_of(target)}." + errors.at_user_line()
        )
    return None


def _shape_of(target: Any) -> str:
    shape = target._array.shape if isinstance(target, Tensor) else target[0]._meta[target[1]][0]
    return errors.shape_list(shape)


def _batched_grad(
    roots: tuple[Any, ...],
    wanted: tuple[Any, ...],
    given: tuple[Any, ...],
    retain_graph: bool,
    create_graph: bool,
) -> list[Tensor | None]:
    """One gradient for each row of the given ones, stacked."""
    sizes = {g._array.shape[0] for g in given if g is not None and g._array.ndim}
    if len(sizes) != 1:
        raise RuntimeError(
            "is_grads_batched=True needs grad_outputs whose first dimension is the batch"
            + errors.at_user_line()
        )
    count = sizes.pop()
    if not count:
        raise RuntimeError("is_grads_batched=True needs at least one row of gradients")
    for index, (root, grad) in enumerate(zip(roots, given, strict=True)):
        shape = root._array.shape if isinstance(root, Tensor) else root[0]._meta[root[1]][0]
        if grad is not None and grad._array.shape[1:] != shape:
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output "
                "as the batch dimension. The sizes of the remaining dimensions are expected to "
                "match the shape of corresponding output, but a mismatch was detected: "
                f"grad_output[{index}] has a shape of {grad.shape} and output[{index}] has a "
                f"shape of {Size(shape)}. If you only want some tensors in `grad_output` to be "
                "considered batched, consider using vmap." + errors.at_user_line()
            )
    with batching.level.running(count, batching.level.UNSUPPORTED, is_transform=False) as level:
        rows = tuple(None if g is None else level.lift(g) for g in given)
        found = _grads_of(roots, wanted, rows, retain_graph, create_graph)
    return [None if each is None else level.result(each) for each in found]
