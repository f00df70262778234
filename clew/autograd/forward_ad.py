"""Forward mode: tangents travel with the values.

Inside a dual level every operation is intercepted: it runs as always, and then its output gets a
tangent that follows from the op's definition. For elementwise operations the gradient formula,
applied to the tangent, is the answer; linear ones are applied to the tangents; multilinear ones to
one tangent at a time. For all others the gradient, which is linear in its cotangent, is transposed.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from sys import _getframe
from typing import Any, NamedTuple

import numpy as np

from clew import errors
from clew.autograd.backward import grad
from clew.autograd.function_jvp import run_jvp
from clew.autograd.mode import _Mode
from clew.autograd.tangent_layout import in_layout_of, laid_out_like
from clew.core.elementwise import Elementwise
from clew.core.engine import fit
from clew.core.inplace import apply_inplace, write_tangent
from clew.core.interception import Interceptor, install, installed, remove
from clew.core.op import Op
from clew.core.recording import INPUT, NEEDS, OUTPUT, PARAM, OpNode, fact
from clew.core.saving import OWN, Packed, SavedDual, SavedLifted
from clew.core.state import State, local
from clew.core.tensor import Tensor, alias, tangents_of, wrap
from clew.interrupts import enters_block, uninterrupted
from clew.ops.batching.level import lifted


class UnpackedDualTensor(NamedTuple):
    """The value and the tangent of a dual tensor."""

    primal: Tensor
    tangent: Tensor | None


class DualLevel(Interceptor):
    """The open dual level of a thread, and the tensors that have tangents in it."""

    carries_tangents = True

    def __init__(self) -> None:
        self.tensors: list[weakref.ref[Tensor]] = []
        self.is_open = True

    def tangent(self, value: Any) -> Tensor | None:
        return tangents_of(value).get(self)

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
            state.intercept = intercept
        return same

    def without_tangent(self, value: Any) -> Any:
        return value if self.tangent(value) is None else self.outside(value)

    def give(self, tensor: Tensor, tangent: Tensor) -> Tensor:
        # Not in place: what was saved may share the others.
        tensor._tangent = {**tangents_of(tensor), self: tangent}
        self.tensors.append(weakref.ref(tensor))
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
            state.intercept, state.dual = self, dual

    def run(self, state: State, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        result = op(*inputs, **params)
        outs = result if isinstance(result, tuple) else (result,)
        if any(self.tangent(value) is not None for value in inputs):
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
        if any(self.tangent(value) is not None for value in inputs):
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
    """Open a dual level; make_dual works inside."""
    _opened()
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """Close the dual level and drop its tangents."""
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
    """A context in which tensors can carry tangents."""

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
    """A tensor with the same value and history that carries `tangent`."""
    current = _level(level)
    return current.dual(tensor, tangent)


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The value without its tangent, and the tangent (None if there is none)."""
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


# -- tangents from an op's definition ----------------------------------------------------------


def jvp_of(
    level: DualLevel,
    op: Op,
    inputs: tuple[Any, ...],
    params: dict[str, Any],
    outs: tuple[Tensor, ...],
) -> Sequence[Tensor | None]:
    """The tangents of an operation's outputs, from those of its inputs."""
    if not any(op.can_differentiate(out) for out in outs):
        return [None] * len(outs)
    plain = tuple(_without_tangent(level, value) for value in inputs)
    tangents = tuple(level.tangent(value) for value in inputs)
    try:
        return _tangents_of_outputs(op, plain, tangents, params, outs)
    except NotImplementedError as error:
        raise NotImplementedError(
            f"Trying to use forward AD with {op.name.partition('.')[0]} that does not support it "
            f"because it has not been implemented yet.\n  {error}"
        ) from None


def _tangents_of_outputs(
    op: Op,
    plain: tuple[Any, ...],
    tangents: tuple[Any, ...],
    params: dict[str, Any],
    outs: tuple[Tensor, ...],
) -> Sequence[Tensor | None]:
    if isinstance(op, Elementwise):
        return [_elementwise(op, plain, tangents, params, outs)]
    if op.linear:
        return _linear(op, plain, tangents, params, outs)
    if op.multilinear:
        return [_multilinear(op, plain, tangents, params, outs[0])]
    return _transposed(op, plain, tangents, params, outs)


def _without_tangent(level: DualLevel, value: Any) -> Any:
    tangents = tangents_of(value)
    if level not in tangents:
        return value
    plain = alias(value)
    if len(tangents) > 1:
        plain._tangent = {k: v for k, v in tangents.items() if k is not level}
    plain._requires_grad, plain._node = value._requires_grad, value._node
    plain._output_nr = value._output_nr
    return plain


def _values(
    op: Op, formula: Callable[..., Any], inputs: tuple[Any, ...], params: dict[str, Any], outs: Any
) -> list[Any]:
    """What a formula asks for by name, taken from a call that is at hand."""
    return [_value(op.capture(name), inputs, params, outs) for name in op.formula_names[formula]]


def _value(
    capture: tuple[int, Any], inputs: tuple[Any, ...], params: dict[str, Any], outs: Any
) -> Any:
    kind, key = capture
    if kind == INPUT:
        return inputs[key]
    if kind == OUTPUT:
        if key is not None:
            return outs[key]
        return outs[0] if len(outs) == 1 else outs
    if kind == PARAM:
        return params.get(key)
    if kind == NEEDS:
        return tuple(isinstance(v, Tensor) for v in inputs)
    return fact(kind, key, inputs)


def _sum(terms: list[Tensor]) -> Tensor | None:
    total: Tensor | None = None
    for term in terms:
        total = term if total is None else total + term
    return total


def _conj(value: Tensor) -> Tensor:
    return value.conj_physical() if value._array.dtype.kind == "c" else value


def _elementwise(
    op: Op, inputs: tuple[Any, ...], tangents: Sequence[Any], params: dict[str, Any], outs: Any
) -> Tensor | None:
    out = outs[0]
    terms = []
    for name, formula in op.grads.items():
        tangent = tangents[op.inputs.index(name)]
        if tangent is not None:
            # The formula multiplies by the conjugate of the derivative; this one must not.
            term = _conj(formula(_conj(tangent), *_values(op, formula, inputs, params, outs)))
            terms.append(_fit_out(term, out))
    return _sum(terms)


def _fit_out(term: Tensor, out: Tensor) -> Tensor:
    if term._array.shape != out._array.shape:
        term = term.expand(out._array.shape)
    if term._array.dtype is not out._array.dtype:
        if term._array.dtype.kind == "c" and out._array.dtype.kind != "c":
            term = term.real
        term = term.to(out.dtype)
    return term


def _is_float(value: Any) -> bool:
    return isinstance(value, Tensor) and (value.dtype.is_floating_point or value.dtype.is_complex)


def _linear(
    op: Op, inputs: tuple[Any, ...], tangents: Sequence[Any], params: dict[str, Any], outs: Any
) -> Sequence[Tensor | None]:
    moved = [
        tangent
        if tangent is not None
        else wrap(np.zeros_like(value._array))
        if _is_float(value) and (op.variadic or op.inputs[index] in op.grads)
        else value
        for index, (value, tangent) in enumerate(zip(inputs, tangents, strict=True))
    ]
    result = op(*moved, **params)
    return result if isinstance(result, tuple) else [result]


def _multilinear(
    op: Op, inputs: tuple[Any, ...], tangents: Sequence[Any], params: dict[str, Any], out: Tensor
) -> Tensor | None:
    terms = []
    for index, tangent in enumerate(tangents):
        if tangent is not None:
            moved = (*inputs[:index], tangent, *inputs[index + 1 :])
            terms.append(op(*moved, **params))
    return _sum(terms)


def _transposed(
    op: Op, inputs: tuple[Any, ...], tangents: Sequence[Any], params: dict[str, Any], outs: Any
) -> Sequence[Tensor | None]:
    """The gradient is linear in its cotangent; the tangent is that linear map turned around."""
    state = local.state
    grad_enabled, state.grad_enabled = state.grad_enabled, True
    try:
        cotangents = [
            lifted(wrap(np.zeros_like(out._array))).requires_grad_()
            if op.can_differentiate(out)
            else None
            for out in outs
        ]
        pulled = _pull_back(op, inputs, tangents, params, outs, cotangents)
        terms = [
            (_conj(gradient) * tangent).sum()
            for gradient, tangent in pulled
            if gradient is not None
        ]
        wanted = [each for each in cotangents if each is not None]
        total = _sum(terms)
        if total is None or not total.requires_grad:
            results: Sequence[Any] = [wrap(np.zeros_like(w._array)) for w in wanted]
        else:
            real = total.real if total._array.dtype.kind == "c" else total
            results = grad(real, wanted, create_graph=grad_enabled, materialize_grads=True)
    finally:
        state.grad_enabled = grad_enabled
    # Formulas may end in a conjugate; as a view it would share memory with what is not kept.
    found = iter([each.resolve_conj() for each in results])
    return [None if each is None else next(found) for each in cotangents]


def _pull_back(
    op: Op,
    inputs: tuple[Any, ...],
    tangents: Sequence[Any],
    params: dict[str, Any],
    outs: Any,
    cotangents: list[Any],
) -> list[tuple[Any, Tensor]]:
    g: Any = cotangents[0] if op.outputs == 1 else tuple(cotangents)
    if op.joint is not None:
        gradients = list(op.joint(g, *_values(op, op.joint, inputs, params, outs)))
    else:
        gradients = [None] * len(inputs)
        for name, formula in op.grads.items():
            index = op.inputs.index(name)
            if tangents[index] is not None:
                gradients[index] = formula(g, *_values(op, formula, inputs, params, outs))
    pairs = []
    for gradient, tangent, value in zip(gradients, tangents, inputs, strict=False):
        if tangent is not None and gradient is not None:
            array = value._array
            fitted = fit(gradient, array.shape, array.dtype, None)
            pairs.append((fitted, tangent))
    return pairs
