"""Writing into tensors: the in-place form of every operation, and what it does to history.

An in-place operation is its out-of-place form whose result is stored in its first input. The
input's history becomes the node of that operation. For a view, the base's history becomes a
`CopySlices` node that joins the old base with the new values; all views of that base then take
their history from it again (see `tensor.sync`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import CodeType
from typing import Any, cast

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.casting import without_autocast
from clew.core.copy_slices import CopySlices
from clew.core.meta.handlers import is_wrapper
from clew.core.meta.memory import is_meta
from clew.core.mirror import MIRRORS, bits_of, reflect
from clew.core.no_history import records_write
from clew.core.node import Node, edge_of, restore, retain
from clew.core.op import Op
from clew.core.recording import (
    OpNode,
    Plan,
    differentiable,
    edges_of,
    grad_mask,
    record,
)
from clew.core.saving import OWN, OWN_EDGE
from clew.core.state import State, local
from clew.core.storage import INFERENCE, DataStorage, Storage
from clew.core.tensor import (
    Tensor,
    alias,
    forbid_view_write,
    replay_history,
    sync,
    take_retained,
    tangents_of,
)
from clew.kernels.compiled.copies import copy_into
from clew.kernels.numpy.strides import is_same_memory, overlaps_itself, partly_overlap
from clew.observer import active
from clew.source import _getframe, user_stacklevel, user_where


def apply_inplace(op: Op, target: Tensor, *others: Any, **params: Any) -> Tensor:
    """Run `op(target, *others, **params)` and store the result in `target`."""
    state = local.state
    if state.intercept is not None:
        return state.intercept(op, (target, *others), params, inplace=True)
    if not state.grad_enabled and state.no_grad_reason is not None:
        state.no_grad_reason.written(target, others)
    return run_inplace(state, op, (target, *others), params)


def run_inplace(state: State, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Tensor:
    target: Tensor = inputs[0]
    mask, version = 0, -1
    if not needs_no_checks(state, inputs):
        # PyTorch writes to conjugate views by copying, when everything has been read. Else one
        # value for all elements may go to one place several times.
        by_copying = bool(MIRRORS) and bits_of(target._array) and op.name != "copy"
        may_overlap = op.uniform and not by_copying
        mask = check_write(state, op.name + "_", inputs, may_overlap=may_overlap)
        if not by_copying:
            check_overlap(inputs)
    if target._array.dtype.kind == "b":
        op.refuse_target(dtypes.bool_, inputs)
    plan = op.plan(mask) if mask and records_write(op, target, mask) else None
    if plan is not None:
        if plan.saves_input:
            inputs = _operands_to_save(state, plan, inputs)
        if state.saved_hooks:
            inputs = _with_copies(plan, inputs, target)
        version = target._storage.version
    try:
        is_written = op.write_into(target._array, inputs, params)
        result = target._array if is_written else op.compute(inputs, params)
    except NotImplementedError:
        refuse_complex(inputs)
        raise
    except (RuntimeError, IndexError):
        op.write_first_part(target._array, inputs, params)
        raise
    if is_written:
        note_write(target, op.name + "_")
    else:
        if type(result) is tuple or type(result) is list:
            result = result[0]
        if op.name.startswith(_WRITE_SOME) and overlaps_itself(target._array):
            result = _with_changes(target._array, result)
        store(target, result, op.name + "_")
    if plan is not None:
        edges = edges_of(inputs)
        plan = op.plan_for_edges(plan, inputs, edges)
        node = record(state, plan, op.node_class, inputs, params, (target,), edges, _getframe(1))
        if _saves_overwritten(plan, inputs, target):
            # As if it had been saved before the write: backward then says that it is gone.
            _set_saved_version(node, target._storage, version)
        rebase(state, target, node, is_step=True)
    elif mask:
        target._reason = op.reason(state, mask, inputs)
    observer = active.observer
    if observer is not None:
        observer.inplace_op_ran(op.name, inputs, target)
    return target


def needs_no_checks(state: State, inputs: tuple[Any, ...]) -> bool:
    """Whether it is plain that a write is allowed, reads no memory that it changes, and has no
    history."""
    if state.mutation_guard is not None or MIRRORS or 0 in inputs[0]._array.strides:
        return False
    grad_enabled, written = state.grad_enabled, None
    for value in inputs:
        if isinstance(value, Tensor):
            storage = value._storage
            if type(storage) is not Storage or storage is written or storage.untyped is not None:
                return False
            if grad_enabled:
                view = value._view
                if value._requires_grad or (
                    view is not None and (view.kind is not None or view.seen != storage.changes)
                ):
                    return False
            if written is None:
                written = storage
    return True


def refuse_complex(inputs: tuple[Any, ...]) -> None:
    """That a real tensor cannot hold a complex result is said before that there is none."""
    target: Tensor = inputs[0]
    promotion = dtypes.Promotion()
    for value in inputs:
        if isinstance(value, Tensor):
            promotion.add_array(value._array)
        elif isinstance(value, complex):
            promotion.add_number(value)
    result = promotion.result()
    if result.is_complex and not target.dtype.is_complex:
        raise errors.in_place_dtype(result.scalar_name, target.dtype.scalar_name) from None


def _operands_to_save(state: State, plan: Plan, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Operands of which a formula needs the value from before the write."""
    for index in plan.saves_input:
        value = inputs[index] if index else None  # of what is written to, a copy is saved
        if isinstance(value, Tensor) and value._storage.is_inference and not state.transforms:
            # Saving would refuse it, but only when the target has been written to.
            raise errors.inference_saved()
    return (_before_write(inputs[0]), *inputs[1:]) if 0 in plan.saves_input else inputs


def _before_write(target: Tensor) -> Tensor:
    node, number = edge_of(target) if target._requires_grad else (None, 0)
    copy: Tensor = restore(target._array.copy(), Storage(), node, number)
    state = local.state
    for level, tangent in tangents_of(target).items():
        level.give(copy, _copied(state, tangent))
    return copy


def _copied(state: State, tangent: Tensor) -> Tensor:
    """A copy of a tangent, inside of the vmap whose tensor it is, if it is one's."""
    if not tangent._is_lifted:
        return tangent.clone()
    intercept, state.intercept = state.intercept, tangent._level
    try:
        return tangent.clone()
    finally:
        state.intercept = intercept


def _stand_in(target: Tensor) -> Tensor:
    """A copy of what is to be written to, with its history."""
    view = target._view
    if view is None or not view.base._requires_grad:
        return _before_write(target)
    # Not the view's own history: the hooks on it are for what is computed of the view itself.
    again = replay_history(view, view.base)
    return restore(target._array.copy(), Storage(), again._node, again._output_nr)


def _saves_overwritten(plan: Plan, inputs: tuple[Any, ...], target: Tensor) -> bool:
    """Whether an operand that backward needs lies in the memory that is written: `x.mul_(x)`."""
    return any(_shares_memory(inputs[index], target) for index in plan.saves_input if index)


def _shares_memory(value: Any, target: Tensor) -> bool:
    return isinstance(value, Tensor) and value._storage is target._storage


def _set_saved_version(node: OpNode, storage: Storage, version: int) -> None:
    node.saved = tuple(
        (value[0], storage, version, value[3])
        if type(value) is tuple and value[1] is storage and (value[3] or (None,))[0] is not OWN
        else value
        for value in node.saved
    )


def _with_copies(plan: Plan, inputs: tuple[Any, ...], target: Tensor) -> tuple[Any, ...]:
    """Operands as they are before the write: pack hooks will see them only after it."""
    return tuple(
        _before_write(value)
        if index and index in plan.saves_input and _shares_memory(value, target)
        else value
        for index, value in enumerate(inputs)
    )


def check_write(
    state: State, writer: str, inputs: tuple[Any, ...], *, may_overlap: bool = False
) -> int:
    """Refuse writes that PyTorch refuses; the mask of inputs that require grad otherwise."""
    target: Tensor = inputs[0]
    if state.mutation_guard is not None:
        state.mutation_guard.before_write(target)
    mask = 0
    if state.grad_enabled:
        view = target._view
        if (
            view is not None
            and view.kind is not None
            and (target.requires_grad or grad_mask(inputs[1:]))
            and (differentiable(target) or writer != "copy_")
        ):
            # Before anybody asks for its history, which it may have lost.
            forbid_view_write(target)
        try:
            mask = grad_mask(inputs)
        except RuntimeError:
            # That the target is a leaf is said before that another operand lost its history.
            refuse_leaf(target, writer)
            raise
        if mask & 1:
            check_leaf(target, writer)
    if repeats_memory(target._array):
        if writer.startswith(_WRITE_EXPANDED):
            _warn_of_expanded(writer)
        elif not may_overlap:
            raise errors.overlapping_write()
    return mask


# These write to expanded tensors as well, with a warning.
_WRITE_EXPANDED = ("index_fill", "index_put", "masked_fill")
# These compute some of the elements of their result. The others are not written: they may lie where
# a new one does.
_WRITE_SOME = ("index_", "masked_", "put", "scatter", "tril", "triu")


def _warn_of_expanded(writer: str) -> None:
    name = next(each for each in _WRITE_EXPANDED if writer.startswith(each))
    example = "tensor[indices] = tensor" if name == "index_put" else "tensor[mask] = scalar"
    warnings.warn(
        f"Use of {name}_ on expanded tensors is deprecated. Please clone() the tensor before "
        f"performing this operation. This also applies to advanced indexing e.g. {example}",
        stacklevel=user_stacklevel(),
    )


def _with_changes(target: np.ndarray, result: np.ndarray) -> np.ndarray:
    """An array that overlaps after the elements that a result changes were written to it."""
    unchanged = (result == target) | ((result != result) & (target != target))
    np.copyto(target, result, where=~unchanged)
    return target


def repeats_memory(array: np.ndarray) -> bool:
    """Whether several elements share one place, as in an expanded tensor."""
    strides = array.strides
    return (
        0 in strides
        and array.size > 0
        and any(s == 0 and n > 1 for s, n in zip(strides, array.shape, strict=True))
    )


def check_overlap(inputs: tuple[Any, ...]) -> None:
    """Refuse to write over a part of an operand that is still being read."""
    target: Tensor = inputs[0]
    for other in inputs[1:]:
        if (
            isinstance(other, Tensor)
            and other is not target
            and may_share(other._storage, target._storage)
            and partly_overlap(target._array, other._array)
        ):
            raise errors.partial_overlap()


def may_share(one: Storage, other: Storage) -> bool:
    """Whether memory may be the same; what `.data` and `set_` give counts its writes by itself."""
    if one is other or type(one) is DataStorage or type(other) is DataStorage:
        return True
    return one.untyped is not None and one.untyped is other.untyped


def keep_apart(target: Tensor, *others: Any) -> None:
    """Refuse to write to memory that is read for the places, or the values, to write."""
    for other in () if bits_of(target._array) else others:
        # Of other memory that lies in the same place (NumPy's) PyTorch knows nothing.
        if other is target or (
            isinstance(other, Tensor)
            and may_share(other._storage, target._storage)
            # Far from each other, by the bounds of their memory: the usual case, told fast.
            and np.may_share_memory(target._array, other._array)
            and (
                is_same_memory(target._array, other._array)
                or partly_overlap(target._array, other._array)
            )
        ):
            if repeats_memory(target._array):
                raise errors.overlapping_write()
            raise errors.partial_overlap()


def refuse_leaf(target: Tensor, writer: str) -> None:
    """Raise for a leaf before anything else is said of a call that is wrong, as PyTorch does."""
    if local.state.grad_enabled and target.requires_grad:
        forbid_view_write(target)
        check_leaf(target, writer)


def check_leaf(target: Tensor, writer: str) -> None:
    """A leaf that requires grad must not be written to while grad mode is on."""
    view = target._view
    if view is not None and view.base.is_leaf:
        raise errors.leaf_in_place(writer, is_view=True)
    if target.is_leaf:
        raise errors.leaf_in_place(writer, is_view=False)


def store(target: Tensor, result: Any, writer: str) -> None:
    """Put `result` into the target's memory and note who wrote, and where."""
    array = target._array
    if type(result) is not np.ndarray:
        result = np.asarray(result)
    check_result(array, result)
    if result.dtype is not array.dtype:
        np.copyto(array, result, casting="unsafe")
    elif result is not array:
        copy_into(array, result)
    note_write(target, writer)


def check_result(array: np.ndarray, result: np.ndarray) -> None:
    """Refuse a result that an array cannot hold."""
    if (
        result.shape != array.shape
        and np.broadcast_shapes(result.shape, array.shape) != array.shape
    ):
        raise errors.in_place_shape(array.shape, result.shape)
    if result.dtype is not array.dtype:
        have, want = dtypes.of_array(result), dtypes.of_array(array)
        if not dtypes.can_cast(have, want):
            raise errors.in_place_dtype(have.scalar_name, want.scalar_name)


def rebase(
    state: State, target: Tensor, node: Node, number: int = 0, *, is_step: bool = False
) -> None:
    """Make output `number` of `node` the history of a tensor that has just been written to.

    `is_step` says that the node is all that was done to the tensor, which is its first input.
    """
    view = target._view
    written = target if view is None else view.base
    retained = take_retained(written)
    if view is None:
        target._node, target._output_nr = node, number
    else:
        written._node = CopySlices(state, written, view, (node, number), is_step)
        written._output_nr = 0
    written._requires_grad = True
    written._reason = None
    target._storage.rewrite()
    if retained:
        retain(written)
    sync(target)


def become(
    target: Tensor,
    compute: Callable[[Tensor], Tensor],
    writer: str,
    operands: tuple[Any, ...] = (),
) -> Tensor:
    """The in-place form of a function made of several operations.

    The function runs on a stand-in that has the target's history and a copy of its values, so that
    what its steps save is not what is then overwritten. They save where the target or one of the
    other operands requires grad.
    """
    state = local.state
    if state.autocast is not None:
        return cast(Tensor, without_autocast(become, target, compute, writer, operands))
    if target._is_lifted or is_wrapper(target):
        return target.copy_(compute(target.clone()))
    mask = check_write(state, writer, (target, *operands))
    stand_in = _stand_in(target) if mask else alias(target)
    stand_in._tangent = tangents_of(target)
    result = compute(stand_in)
    if result._is_lifted:
        raise result.no_captured_write(writer)
    if state.grad_enabled and result._requires_grad and not mask:
        forbid_view_write(target)
    version = target._storage.version
    if is_meta(target._array):
        check_result(target._array, result._array)
        note_write(target, writer)
    else:
        array = result._array
        if writer.startswith(_WRITE_SOME) and overlaps_itself(target._array):
            array = _with_changes(target._array, array)
        store(target, array, writer)
    if state.intercept is not None:
        state.intercept.stored(target, result, version)
    if state.grad_enabled and result._requires_grad and result._node is not None:
        _save_target(result, target)
        rebase(state, target, result._node, result._output_nr)
    for level, tangent in tangents_of(result).items():
        write_tangent(level, target, tangent)
    return target


def _save_target(result: Tensor, target: Tensor) -> None:
    """Where the last step has saved its result, let it be what was written: it may be overwritten.

    So backward says that it is gone, as PyTorch's does.
    """
    node = result._node
    if isinstance(node, OpNode) and result._array.dtype is target._array.dtype:
        storage = target._storage
        node.saved = tuple(
            (target._array, storage, storage.version, value[3])
            if type(value) is tuple and value[3] is OWN_EDGE and value[0] is result._array
            else value
            for value in node.saved
        )


def write_tangent(level: Any, target: Tensor, tangent: Tensor) -> None:
    """Store a dual level's tangent beside a value that was written in place."""
    view = target._view
    have = tangents_of(target).get(level)
    if have is not None and have._array.dtype == tangent._array.dtype:
        have.copy_(tangent)
    elif view is None:
        level.give(target, tangent.clone())
    else:
        base = view.base
        if level not in tangents_of(base):
            level.give(base, tangent.new_zeros(base._array.shape))
        part = view.replay(tangents_of(base)[level])
        part.copy_(tangent)
        level.give(target, part)


def note_write(target: Tensor, writer: str) -> None:
    """Note a write that an operation did; only now it raises for a tensor of inference mode.

    PyTorch finds that there is no version to count when it has written.
    """
    if target._storage is INFERENCE and not local.state.inference:
        raise errors.inference_inplace()
    bump_version(target, writer)


def bump_version(target: Tensor, writer: str, where: tuple[CodeType, int] | None = None) -> None:
    """Note a write that was done to a tensor's memory by other means."""
    target._storage.bump(writer, where or user_where())
    if MIRRORS:
        reflect(target._array)
