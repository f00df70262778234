"""`backward` and `grad`: checks on what was asked for, then the engine."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from clew import errors
from clew.autograd.explain import why_no_history
from clew.autograd.graph import GradientEdge
from clew.core import engine
from clew.core.node import Edge, live_edge, retain
from clew.core.state import local
from clew.core.storage import Storage
from clew.core.tensor import Tensor, wrap
from clew.observer import active
from clew.ops.batching.level import innermost, running
from clew.ops.define import vmap_errors

Tensors = Tensor | Sequence[Tensor]


def inside_transform() -> bool:
    """Whether a function runs that vmap, grad or another transform was given."""
    return local.state.new_storage is not Storage or innermost() is not None


def as_tuple(value: Any) -> tuple[Any, ...]:
    if value is None:
        return ()
    if isinstance(value, (Tensor, GradientEdge)) or not hasattr(value, "__iter__"):
        return (value,)
    return tuple(value)


def backward(
    tensors: Tensors,
    grad_tensors: Tensors | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Tensors | None = None,
) -> None:
    """Add the gradients of the leaves that `tensors` were computed from into their `.grad`."""
    if inputs is not None and not len(as_tuple(inputs)):
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    roots = as_tuple(tensors)
    if inside_transform():
        raise vmap_errors.backward()
    for tensor in as_tuple(inputs):
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
    targets = None if inputs is None else target_edges(as_tuple(inputs))
    engine.backward(
        edges,
        grads,
        retain_graph=create_graph if retain_graph is None else retain_graph,
        create_graph=create_graph,
        targets=targets,
        accumulate=True,
        outputs=roots,
    )


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
    for index, (root, grad) in enumerate(zip(roots, given, strict=True)):
        if isinstance(root, GradientEdge):
            edges.append((root.node, root.output_nr))
            grads.append(_grad_for_edge(root, grad))
            continue
        edge = live_edge(root)
        if edge is None:
            observer = active.observer
            if observer is not None:
                observer.backward_without_history(root)
            raise errors.no_history(index, why_no_history(root))
        edges.append(edge)
        grads.append(initial_grad(root, grad))
    return edges, grads


def _grad_for_edge(edge: Any, grad: Tensor | None) -> Tensor:
    shape, dtype = edge[0]._meta[edge[1]]
    if grad is not None:
        return grad
    if math.prod(shape) != 1:
        raise RuntimeError(
            "grad can be implicitly created only for scalar outputs\n  Pass the gradient that this "
            f"edge starts from, of shape {errors.shape_list(shape)}." + errors.at_user_line()
        )
    return wrap(np.ones(shape, dtype))


def initial_grad(root: Tensor, grad: Any) -> Tensor:
    """The gradient that backward starts from: ones for a scalar, else what the caller gave."""
    array = root._array
    if grad is None:
        if array.size != 1:
            raise RuntimeError(
                "grad can be implicitly created only for scalar outputs\n"
                f"  This output has shape {errors.shape_list(array.shape)}: reduce it (`.mean()` "
                "or `.sum()`), or pass `gradient=` with its shape." + errors.at_user_line()
            )
        if array.dtype.kind == "c":
            raise RuntimeError(
                f"grad can be implicitly created only for real scalar outputs but got {root.dtype}"
                + errors.at_user_line()
            )
        one = np.empty(array.shape, array.dtype)
        one.fill(1)
        return wrap(one)
    if grad._array.shape != array.shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[0] has a shape of {grad.shape} and output[0] has a "
            f"shape of {root.shape}." + errors.at_user_line()
        )
    if (grad._array.dtype.kind == "c") != (array.dtype.kind == "c"):
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same dtype. "
            f"Mismatch in dtype: grad_output[0] has a dtype of {grad.dtype} and output[0] has a "
            f"dtype of {root.dtype}." + errors.at_user_line()
        )
    return grad


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
    inputs: Tensors,
    grad_outputs: Tensors | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor, ...]:
    """The gradients of `outputs` with respect to `inputs`; nothing is accumulated."""
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
            stacklevel=2,
        )
    roots, wanted = as_tuple(outputs), as_tuple(inputs)
    if not wanted:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    retain = create_graph if retain_graph is None else retain_graph
    given = as_tuple(grad_outputs) or (None,) * len(roots)
    if is_grads_batched:
        return _batched_grad(
            roots, wanted, given, retain, create_graph, allow_unused, materialize_grads
        )
    edges, grads = root_edges(roots, given, create_graph)
    targets = target_edges(wanted)
    captured = engine.backward(
        edges,
        grads,
        retain_graph=retain,
        create_graph=create_graph,
        targets=targets,
        accumulate=False,
        outputs=roots,
    )
    return tuple(
        _captured_grad(captured.get(edge), tensor, index, allow_unused, materialize_grads)
        for index, (edge, tensor) in enumerate(zip(targets, wanted, strict=True))
    )


def _captured_grad(
    found: Tensor | None, tensor: Tensor, index: int, allow_unused: bool | None, materialize: bool
) -> Any:
    if found is not None:
        return found
    if materialize:
        return _zeros_for(tensor)
    if not allow_unused:
        raise RuntimeError(
            f"The differentiated Tensor at index {index} appears to not have been used in the "
            "graph. Set allow_unused=True if this is the desired behavior.\n"
            f"  Its shape is {_shape_of(tensor)}." + errors.at_user_line()
        )
    return None


def _zeros_for(target: Any) -> Tensor:
    if isinstance(target, Tensor):
        return wrap(np.zeros_like(target._array))
    shape, dtype = target[0]._meta[target[1]]
    return wrap(np.zeros(shape, dtype))


def _shape_of(target: Any) -> str:
    shape = target._array.shape if isinstance(target, Tensor) else target[0]._meta[target[1]][0]
    return errors.shape_list(shape)


def _batched_grad(
    roots: tuple[Any, ...],
    inputs: tuple[Any, ...],
    given: tuple[Any, ...],
    retain_graph: bool,
    create_graph: bool,
    allow_unused: bool | None,
    materialize: bool,
) -> tuple[Any, ...]:
    """One gradient for each row of the given ones, stacked."""
    sizes = {g._array.shape[0] for g in given if g is not None}
    if len(sizes) != 1:
        raise RuntimeError(
            "is_grads_batched=True needs grad_outputs whose first dimension is the batch"
        )
    count = sizes.pop()
    if not count:
        raise RuntimeError("is_grads_batched=True needs at least one row of gradients")
    with running(count) as level:
        rows = [None if g is None else level.lift(g) for g in given]
        found = grad(
            roots, inputs, rows, retain_graph=retain_graph, create_graph=create_graph,
            allow_unused=allow_unused, materialize_grads=materialize,
        )  # fmt: skip
    return tuple(None if each is None else level.result(each) for each in found)
