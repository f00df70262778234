"""Forward mode: tangents travel with the values.

Inside a dual level every operation is intercepted: it runs as always, and then its output gets a
tangent that follows from the op's definition (`clew.autograd.jvp`).
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from sys import _getframe
from typing import Any, NamedTuple

from clew import errors
from clew.autograd.function_jvp import run_jvp
from clew.autograd.grad_mode import _Mode
from clew.autograd.jvp import jvp_of
from clew.autograd.tangent_layout import in_layout_of, laid_out_like
from clew.core.inplace import apply_inplace, write_tangent
from clew.core.interception import Interceptor, install, installed, remove, resume
from clew.core.op import Op
from clew.core.recording import OpNode
from clew.core.saving import OWN, Packed, SavedDual, SavedLifted
from clew.core.state import State, local
from clew.core.tensor import Tensor, WeakTensorRef, tangents_of
from clew.interrupts import enters_block, uninterrupted


class UnpackedDualTensor(NamedTuple):
    """What `unpack_dual` gives: `primal`, the value, and `tangent`, or None.

    Example:
        >>> clew.autograd.forward_ad.unpack_dual(clew.tensor(1.))
        UnpackedDualTensor(primal=tensor(1.), tangent=None)
    """

    primal: Tensor
    tangent: Tensor | None


class DualLevel(Interceptor):
    """The open dual level of a thread, and the tensors that have tangents in it."""

    carries_tangents = True

    def __init__(self) -> None:
        self.tensors: list[weakref.ref[Tensor]] = []
        self.is_open = True

    def tangent(self, value: Any) -> Tensor | None:
        found = tangents_of(value).get(self)
        return self.follow_base(value) if found is None else found

    def follow_base(self, value: Any) -> Tensor | None:
        """Give a view the tangent that its base got by a write after the view was made."""
        view = getattr(value, "_view", None)
        if view is None or value._storage.written <= view.made:
            return None
        whole = tangents_of(view.base).get(self)
        if whole is None:
            return None
        part: Tensor = view.replay(whole)
        self.give(value, part)
        return part

    def dual(self, primal: Any, tangent: Any) -> Tensor:
        """A tensor with the same value and history that carries `tangent`."""
        if not isinstance(primal, Tensor):
            raise ValueError(
                f"Thing passed to transform API must be Tensor, got {type(primal)}"
                + errors.at_user_line()
            )
        _check_tangent(primal, tangent)
        if self.tangent(tangent) is not None:
            raise RuntimeError(
                "Setting a forward grad that itself has a forward gradient at the same level0 is "
                "not supported." + errors.at_user_line()
            )
        if self.tangent(primal) is not None:
            raise RuntimeError(
                "Making a dual Tensor based on a Tensor that already has a forward gradient at "
                "the same level 0 is not supported." + errors.at_user_line()
            )
        return self.give(self.outside(primal), in_layout_of(primal, tangent))

    def outside(self, tensor: Tensor) -> Tensor:
        """The same tensor with its history, as those outside of this level see it."""
        state = local.state
        intercept, state.intercept = state.intercept, self.outer
        try:
            same: Tensor = tensor.view_as(tensor)
        finally:
            resume(state, intercept)
        return same

    def without_tangent(self, value: Any) -> Any:
        return value if self.tangent(value) is None else self.outside(value)

    def give(self, tensor: Tensor, tangent: Tensor) -> Tensor:
        # Not in place: what was saved may share the others.
        tensor._tangent = {**tangents_of(tensor), self: tangent}
        self.tensors.append(WeakTensorRef(tensor))
        return tensor

    @uninterrupted
    def close(self) -> None:
        self.is_open = False
        for reference in self.tensors:
            tensor = reference()
            if tensor is not None:
                left = {k: v for k, v in tangents_of(tensor).items() if k is not self}
                tensor._tangent = left or None

    def __call__(
        self, op: Any, inputs: tuple[Any, ...], params: dict[str, Any], inplace: bool = False
    ) -> Any:
        """Run an operation and give its outputs their tangents."""
        state = local.state
        dual, state.dual = state.dual, True
        state.intercept = self.outer
        try:
            if isinstance(op, Op):
                run = self.run_inplace if inplace else self.run
                return run(state, op, inputs, params)
            outputs = params["outputs"]
            for out, tangent in zip(
                outputs, run_jvp(self, params["ctx"], inputs, outputs), strict=True
            ):
                if tangent is not None:
                    self.give(out, tangent)
            return outputs if self.outer is None else self.outer(op, inputs, params)
        finally:
            resume(state, self)
            state.dual = dual

    def run(self, state: State, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        # All of them are asked: a view may have to follow its base first.
        is_dual = any([self.tangent(value) is not None for value in inputs])
        result = op(*inputs, **params)
        outs = result if isinstance(result, tuple) else (result,)
        if is_dual:
            for out, tangent in zip(outs, jvp_of(self, op, inputs, params, outs), strict=True):
                if tangent is not None:
                    self.give(out, tangent if op.is_view else laid_out_like(out, tangent))
            keep_output_tangents(outs)
        return result

    def run_inplace(
        self, state: State, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]
    ) -> Tensor:
        target: Tensor = inputs[0]
        tangent = None
        if any([self.tangent(value) is not None for value in inputs]):
            # The formulas may need the value from before the write.
            outs = op(*inputs, **params)
            outs = outs if isinstance(outs, tuple) else (outs,)
            tangent = jvp_of(self, op, inputs, params, outs)[0]
        result = apply_inplace(op, *inputs, **params)
        if tangent is not None:
            write_tangent(self, target, tangent)
        return result


def keep_output_tangents(outs: Sequence[Tensor]) -> None:
    """A node saved its outputs before they had tangents: put these beside what it saved."""
    node = outs[0]._node if outs else None
    if not isinstance(node, OpNode) or not isinstance(node.saved, tuple):
        return
    node.saved = tuple(_with_tangents(value, outs) for value in node.saved)


def _with_tangents(value: Any, outs: Sequence[Tensor]) -> Any:
    kept = value
    if type(kept) is Packed and isinstance(kept.packed, Tensor) and kept.edge is not None:
        if kept.edge[0] is OWN:
            kept.packed._tangent = tangents_of(outs[kept.edge[1]])
        return value
    while type(kept) is SavedDual or type(kept) is SavedLifted:
        kept = kept.saved
    if type(kept) is not tuple or kept[3] is None or kept[3][0] is not OWN:
        return value
    tangents = tangents_of(outs[kept[3][1]])
    return SavedDual(value, tangents) if tangents else value


def _level(level: Any = None) -> DualLevel:
    current = installed(DualLevel)
    if current is None:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to "
            "enter_dual_level() first." + errors.at_user_line()
        )
    return current


def _opened() -> DualLevel:
    if installed(DualLevel) is not None:
        raise RuntimeError(
            "Nested forward mode AD is not supported at the moment: this thread is in a dual "
            "level already."
        )
    level = DualLevel()
    install(level)
    return level


def enter_dual_level() -> int:
    """Open a dual level; make_dual works inside. `dual_level` also closes it.

    Example:
        >>> from clew.autograd import forward_ad
        >>> forward_ad.enter_dual_level()
        0
        >>> forward_ad.exit_dual_level()
    """
    _opened()
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """Close the dual level and drop its tangents.

    Args:
        level: the level to close; by default, the open one

    Example:
        >>> from clew.autograd import forward_ad
        >>> level = forward_ad.enter_dual_level()
        >>> forward_ad.exit_dual_level(level=level)
    """
    current = installed(DualLevel)
    if current is None:
        raise RuntimeError(
            "Dual level must be a positive number.\n  No dual level is open."
            + errors.at_user_line()
        )
    remove(current)
    current.close()


def __getattr__(name: str) -> Any:
    """`_current_level`: -1 outside of dual levels, for functions that ask where they run."""
    if name == "_current_level":
        return -1 if installed(DualLevel) is None else 0
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class dual_level(_Mode):
    """A context in which tensors can carry tangents.

    Example:
        >>> from clew.autograd import forward_ad
        >>> with forward_ad.dual_level():
        ...     x = forward_ad.make_dual(clew.tensor(3.), clew.tensor(1.))
        ...     forward_ad.unpack_dual(x**2)
        UnpackedDualTensor(primal=tensor(9.), tangent=tensor(6.))
    """

    def __enter__(self) -> int:
        self._level = _opened()
        return 0

    @uninterrupted
    def __exit__(self, *exc: object) -> None:
        remove(self._level)
        self._level.close()


def _check_tangent(tensor: Tensor, tangent: Tensor) -> None:
    if not (tensor.dtype.is_floating_point or tensor.dtype.is_complex):
        raise ValueError(
            f"Expected primal to be floating point or complex, but got: {tensor.dtype}"
        )
    if not (tangent.dtype.is_floating_point or tangent.dtype.is_complex):
        raise ValueError(
            f"Expected tangent to be floating point or complex, but got: {tangent.dtype}"
        )
    if tangent._array.shape != tensor._array.shape:
        raise errors.tangent_size(tensor._array.shape, tangent._array.shape)


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A tensor with the same value and history that carries `tangent`.

    Args:
        tensor: the value
        tangent: its derivative along some direction, of the same shape
        level: the dual level; by default, the open one

    Example:
        >>> from clew.autograd import forward_ad
        >>> with forward_ad.dual_level():
        ...     x = forward_ad.make_dual(clew.tensor([1., 2.]), clew.tensor([1., 0.]))
        ...     forward_ad.unpack_dual(x.exp().sum()).tangent
        tensor(2.7183)
    """
    current = _level(level)
    return current.dual(tensor, tangent)


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The value without its tangent, and the tangent (None if there is none).

    Args:
        tensor: a dual tensor, or any other
        level: the dual level; by default, the open one

    Example:
        >>> from clew.autograd import forward_ad
        >>> with forward_ad.dual_level():
        ...     x = forward_ad.make_dual(clew.tensor(2.), clew.tensor(1.))
        ...     value, tangent = forward_ad.unpack_dual(1 / x)
        >>> value, tangent
        (tensor(0.5000), tensor(-0.2500))
    """
    if installed(DualLevel) is None:
        return UnpackedDualTensor(tensor, None)
    current = _level(level)
    return UnpackedDualTensor(current.outside(tensor), current.tangent(tensor))


class set_fwd_grad_enabled:
    """Switch forward mode on or off inside a dual level."""

    def __init__(self, mode: bool) -> None:
        self._level = None if mode else installed(DualLevel)
        self._is_removed = False
        if not enters_block(_getframe(1)):
            self.__enter__()

    def __enter__(self) -> None:
        if self._level is not None and not self._is_removed:
            self._is_removed = True
            remove(self._level)

    @uninterrupted
    def __exit__(self, *exc: object) -> None:
        if self._level is not None:
            self._is_removed = False
            install(self._level)
