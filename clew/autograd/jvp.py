"""The Jacobian-vector product of an op: the tangents of its outputs, from its definition.

For elementwise operations the gradient formula, applied to the tangent, is the answer; linear ones
are applied to the tangents; multilinear ones to one tangent at a time, and so are affine ones, with
nothing added but the tangent of what is. For all others the gradient, which is linear in its
cotangent, is transposed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from clew.autograd.backward import grad
from clew.core.accumulating import fit
from clew.core.elementwise import Elementwise
from clew.core.interception import Interceptor, note_constant
from clew.core.op import Op
from clew.core.recording import INPUT, NEEDS, OUTPUT, PARAM, fact
from clew.core.state import local
from clew.core.tensor import Tensor, alias, tangents_of, wrap
from clew.ops.batching.level import lifted


def jvp_of(
    level: Interceptor,
    op: Op,
    inputs: tuple[Any, ...],
    params: dict[str, Any],
    outs: tuple[Tensor, ...],
) -> Sequence[Tensor | None]:
    """The tangents of an operation's outputs, from those of its inputs."""
    if not any(op.can_differentiate(out) for out in outs):
        return [None] * len(outs)
    plain = tuple(_without_tangent(level, value) for value in inputs)
    tangents = tuple(tangents_of(value).get(level) for value in inputs)
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
        return [_multilinear(op, plain, tangents, params)]
    if op.affine is not None:
        added = op.inputs.index(op.affine)
        if any(t is not None for index, t in enumerate(tangents) if index != added):
            return [_affine(op, plain, tangents, params, added)]
    return _transposed(op, plain, tangents, params, outs)


def _without_tangent(level: Interceptor, value: Any) -> Any:
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
    return value.conj_physical() if value._array.dtype.kind in "cW" else value


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
    total = _sum(terms)
    if total is None or not _lacks_history(total, (*inputs, out)):
        return total
    for name, formula in op.grads.items():
        index = op.inputs.index(name)
        if tangents[index] is None and (_is_float(inputs[index]) or op.name in _ONLY_OF_TENSORS):
            zeros = constant_of(np.zeros_like(out._array))
            term = formula(zeros, *_values(op, formula, inputs, params, outs))
            if term._requires_grad:
                total = total + _fit_out(_no_influence(term), out)
    return total


# Operations that PyTorch has for tensors alone: it makes tensors of their numbers.
_ONLY_OF_TENSORS = ("mul", "div")


def _lacks_history(tangent: Tensor, values: tuple[Any, ...]) -> bool:
    """Whether a tangent does not require grad, where something that it may be made of does.

    PyTorch has tangents of zeros for inputs without one, and multiplies by them. So the tangent of
    `x * 2` has a history when x has, along which all gradients are zeros.
    """
    if tangent._requires_grad or not local.state.grad_enabled:
        return False
    return any(isinstance(value, Tensor) and value._requires_grad for value in values)


def _no_influence(value: Tensor) -> Tensor:
    """Zeros, also where the value is infinite, along whose history all gradients are zeros."""
    zeros: Tensor = value.masked_fill(constant_of(np.array(True)), 0)
    return zeros


def _fit_out(term: Tensor, out: Tensor) -> Tensor:
    if term._array.shape != out._array.shape:
        term = term.expand(out._array.shape)
    if term._array.dtype is not out._array.dtype:
        if term._array.dtype.kind in "cW" and out._array.dtype.kind not in "cW":
            term = term.real
        term = term.to(out.dtype)
    return term


def _is_float(value: Any) -> bool:
    return isinstance(value, Tensor) and (value.dtype.is_floating_point or value.dtype.is_complex)


def constant_of(array: np.ndarray) -> Tensor:
    """A tensor of numbers that no operation has made, which interceptors are told of."""
    constant: Tensor = note_constant(wrap(array))
    return constant


def _linear(
    op: Op, inputs: tuple[Any, ...], tangents: Sequence[Any], params: dict[str, Any], outs: Any
) -> Sequence[Tensor | None]:
    moved = [
        tangent
        if tangent is not None
        else constant_of(np.zeros_like(value._array))
        if _is_float(value) and (op.variadic or op.inputs[index] in op.grads)
        else value
        for index, (value, tangent) in enumerate(zip(inputs, tangents, strict=True))
    ]
    result = op(*moved, **params)
    return result if isinstance(result, tuple) else [result]


def _multilinear(
    op: Op, inputs: tuple[Any, ...], tangents: Sequence[Any], params: dict[str, Any]
) -> Tensor | None:
    terms = []
    for index, tangent in enumerate(tangents):
        if tangent is not None:
            moved = (*inputs[:index], tangent, *inputs[index + 1 :])
            terms.append(op(*moved, **params))
    total = _sum(terms)
    return None if total is None else _through_factors(total, inputs, tangents)


def _through_factors(total: Tensor, inputs: tuple[Any, ...], tangents: Sequence[Any]) -> Tensor:
    """The tangent of a product, with a history where a factor that is multiplied by zeros has."""
    has_partner = any(t is None and _is_float(v) for v, t in zip(inputs, tangents, strict=True))
    if has_partner and _lacks_history(total, inputs):
        for value in inputs:
            if isinstance(value, Tensor) and value._requires_grad:
                total = total + _fit_out(_no_influence(value).sum(), total)
    return total


def _affine(
    op: Op, inputs: tuple[Any, ...], tangents: Sequence[Any], params: dict[str, Any], added: int
) -> Tensor | None:
    """What is added has its tangent in the first term, and is zero in the others."""
    zero = constant_of(np.zeros_like(inputs[added]._array))
    first = zero if tangents[added] is None else tangents[added]
    terms: list[Tensor] = []
    for index, tangent in enumerate(tangents):
        if tangent is not None and index != added:
            moved = [*inputs[:index], tangent, *inputs[index + 1 :]]
            moved[added] = zero if terms else first
            terms.append(op(*moved, **params))
    total = _sum(terms)
    return None if total is None else _through_factors(total, inputs, tangents)


def _transposed(
    op: Op, inputs: tuple[Any, ...], tangents: Sequence[Any], params: dict[str, Any], outs: Any
) -> Sequence[Tensor | None]:
    """The gradient is linear in its cotangent; the tangent is that linear map turned around."""
    state = local.state
    grad_enabled, state.grad_enabled = state.grad_enabled, True
    try:
        cotangents = [
            lifted(constant_of(np.zeros_like(out._array))) if op.can_differentiate(out) else None
            for out in outs
        ]
        for cotangent in cotangents:
            if cotangent is not None:
                cotangent._requires_grad = True
        pulled = _pull_back(op, inputs, tangents, params, outs, cotangents)
        terms = [
            (_conj(gradient) * tangent).sum()
            for gradient, tangent in pulled
            if gradient is not None
        ]
        wanted = [each for each in cotangents if each is not None]
        total = _sum(terms)
        if total is None or not total.requires_grad:
            results: Sequence[Any] = [constant_of(np.zeros_like(w._array)) for w in wanted]
        else:
            real = total.real if total._array.dtype.kind in "cW" else total
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
