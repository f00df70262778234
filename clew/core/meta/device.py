"""Operations on the meta device: an interceptor that is there while tensors of it are alive.

It sees every operation of every thread, after all other interceptors, and lets those pass that
have no such tensor among their inputs. History is recorded as for any other tensor. While no such
tensor is alive nothing of this is in anybody's way.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clew import errors
from clew.core import state as states
from clew.core.elementwise import Elementwise
from clew.core.inplace import apply_inplace, check_result, check_write, note_write, rebase
from clew.core.interception import Interceptor
from clew.core.meta import memory as meta_memory
from clew.core.meta.classes import offer, taking_over
from clew.core.meta.memory import is_meta
from clew.core.meta.shapes import needs_elements, without_elements
from clew.core.op import Op
from clew.core.recording import edges_of, record
from clew.core.state import State, local
from clew.core.tensor import Tensor
from clew.core.tensor import wrap as wrapped
from clew.core.view_op import MirrorOp
from clew.source import _getframe

# Writes that look at nothing but the shape of their target, by the operation's name.
WRITES: set[str] = set()


class MetaDevice(Interceptor):
    """Runs operations on tensors without elements."""

    needs_operations = True

    def __call__(
        self, op: Any, inputs: tuple[Any, ...], params: dict[str, Any], inplace: bool = False
    ) -> Any:
        if not isinstance(op, Op):
            return params["outputs"]
        state = local.state
        before, state.intercept = state.intercept, None
        try:
            if not any([_is_on_meta(each) for each in inputs]):
                return apply_inplace(op, *inputs, **params) if inplace else op(*inputs, **params)
            kinds = taking_over(inputs)
            if kinds:
                if inplace:
                    check_write(state, op.name + "_", inputs, may_overlap=op.uniform)
                state.intercept = before  # the handler's operations are seen again
                return offer(state, kinds, op, inputs, params, inplace)
            if inplace:
                return _write(state, op, inputs, params)
            if isinstance(op, MirrorOp):
                array = inputs[0]._array
                return op.share(inputs[0], params, array if op.same_layout else op.function(array))
            if op.is_view:
                return op(*inputs, **params)
            _check_devices(op, inputs)
            result = without_elements(op, inputs, params)
            if type(result) is tuple:
                outs = tuple([wrapped(each) for each in result])
                return op.finish_many(state, inputs, params, outs)
            return op.output(state, inputs, params, result)
        finally:
            # The last tensor of the device may have gone meanwhile.
            state.intercept = before if before is not self or meta_memory.RANGE.alive else None

    def read(self, tensor: Any, how: str, number: Any = None) -> Any:
        if not _is_on_meta(tensor):
            return number
        if how == "memory":
            raise TypeError(
                "can't convert meta device type tensor to numpy. Use Tensor.cpu() to copy the "
                "tensor to host memory first. It has no elements" + errors.at_user_line()
            )
        if how == "tolist":
            raise no_data()
        raise RuntimeError(
            "Tensor.item() cannot be called on meta tensors: they have no elements"
            + errors.at_user_line()
        )


def _is_on_meta(value: Any) -> bool:
    return isinstance(value, Tensor) and not value._is_unstrided and is_meta(value._array)


def no_data() -> NotImplementedError:
    return NotImplementedError(
        "Cannot copy out of meta tensor; no data! A module is moved with "
        "torch.nn.Module.to_empty() instead of torch.nn.Module.to()" + errors.at_user_line()
    )


# Operations besides the elementwise ones that take operands of one device only, as in PyTorch,
# whose products of two matrices, convolutions and lookups do take those of two.
_ON_ONE_DEVICE = frozenset([
    "cat", "stack", "dot", "vdot", "mv", "addmm", "addmm.scaled", "addmv", "native_layer_norm",
    "native_batch_norm", "native_batch_norm_running", "native_group_norm", "_rms_norm", "mse_loss",
    "nll_loss", "binary_cross_entropy", "grid_sampler_2d", "grid_sampler_3d",
    "_scaled_dot_product_flash_attention_for_cpu",
])  # fmt: skip
# Of these, the ones whose first operand has to go with the second.
_SECOND_LEADS = frozenset([
    "addmm", "addmm.scaled", "addmv", "nll_loss", "binary_cross_entropy", "_prelu_kernel",
])  # fmt: skip

_RECURRENT = frozenset(["_lstm_layer", "_gru_layer", "_rnn_layer"])


def _check_devices(op: Op, inputs: tuple[Any, ...]) -> None:
    """Some operations take no operands of two devices, but for numbers."""
    if op.name in _RECURRENT:
        of_input, of_weight = ["meta" if is_meta(each._array) else "cpu" for each in inputs[:2]]
        if of_input != of_weight:
            raise RuntimeError(
                "Input and parameter tensors are not at the same device, found input tensor at "
                f"{of_input} and parameter tensor at {of_weight}" + errors.at_user_line()
            )
    if isinstance(op, Elementwise) or op.name in _ON_ONE_DEVICE:
        arrays = [each._array for each in inputs if isinstance(each, Tensor)]
        if op.name in _SECOND_LEADS:
            arrays = [arrays[1], arrays[0]]
        # A number on the CPU goes with everything.
        arrays = [each for each in arrays if each.ndim or is_meta(each)]
        first = is_meta(arrays[0])
        if any([is_meta(each) != first for each in arrays]):
            if op.name.startswith("_scaled_dot_product"):
                _check_attention(arrays)
            have, want = ("cpu", "meta") if first else ("meta", "cpu")
            raise RuntimeError(
                f"Tensor on device {have} is not on the expected device {want}!"
                + errors.at_user_line()
            )


def _check_attention(arrays: list[np.ndarray]) -> None:
    query, key, value = ["meta" if is_meta(each) else "cpu" for each in arrays[:3]]
    if not query == key == value:
        raise RuntimeError(
            "Expected query, key, and value to have the same device type, but got query.device: "
            f"{query} key.device: {key} and value.device: {value} instead." + errors.at_user_line()
        )


def _write(state: State, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Tensor:
    """An in-place operation: all of it but the writing."""
    target: Tensor = inputs[0]
    if not is_meta(target._array):
        raise no_data()
    mask = check_write(state, op.name + "_", inputs, may_overlap=op.uniform)
    if op.name in WRITES:
        _check_source(target, inputs[1:])
    else:
        result = without_elements(op, inputs, params)
        check_result(target._array, result[0] if type(result) is tuple else result)
    note_write(target, op.name + "_")
    if mask and op.can_differentiate(target):
        edges = edges_of(inputs)
        node = record(
            state, op.plan(mask), op.node_class, inputs, params, (target,), edges, _getframe(1)
        )
        rebase(state, target, node, is_step=True)
    return target


def _check_source(target: Tensor, others: tuple[Any, ...]) -> None:
    for other in others:
        if isinstance(other, Tensor):
            shape, wanted = other._array.shape, target._array.shape
            if np.broadcast_shapes(shape, wanted) != wanted:
                raise errors.in_place_shape(wanted, shape)


def refuse_read(tensor: Any, name: str) -> None:
    """Raise for a function of elements that no operation is part of."""
    if is_meta(tensor._array):
        raise needs_elements(name)


LINK = MetaDevice()


def _watch(is_used: bool) -> None:
    """Put the interceptor at the end of every thread's chain, or take it away."""
    states.last_interceptor = LINK if is_used else None
    for state in states.every_state():
        _append(state) if is_used else _drop(state)


def _append(state: State) -> None:
    link = state.intercept
    if link is None:
        state.intercept = LINK
        return
    while link.outer is not None:
        link = link.outer
    if link is not LINK:
        link.outer = LINK


def _drop(state: State) -> None:
    link = state.intercept
    if link is LINK:
        state.intercept = None
        return
    while link is not None and link.outer is not None:
        if link.outer is LINK:
            link.outer = None
        link = link.outer


meta_memory.RANGE.watchers = (_watch,)
