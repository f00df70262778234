"""Derivatives of one call, clew against torch: first, second (both reverse), and forward mode.

Each check takes clew's and torch's callable and one set of torch arguments. Cotangents and
tangents are random but the same on both sides. Where torch raises, clew must raise alike, unless
torch only lacks a formula.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._pytree import tree_map_only

import clew

from . import oracle
from .tensors import is_inexact, is_tensor, short_name, tensors_in, to_numpy, to_torch

Function = Callable[..., Any]


def _random_like(tensors: list[torch.Tensor], seed: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(t.shape, dtype=t.dtype, generator=generator) for t in tensors]


def _differentiable(result: Any) -> list[Any]:
    return [t for t in tensors_in(result) if t.requires_grad and is_inexact(t)]


def _leaves(args: Any) -> list[Any]:
    return [t for t in tensors_in(args) if t.requires_grad]


def _run_pair(ours: Callable[[], Any], theirs: Callable[[], Any]) -> tuple[Any, Any] | None:
    """Both results; None when both raise alike. An exception of clew alone is passed on."""
    expected, expected_error = oracle.outcome(theirs)
    actual, error = oracle.outcome(ours)
    if expected_error is not None:
        if error is not None or not _is_lacking(expected_error):
            oracle.assert_same_error(error, expected_error)
        return None
    if error is not None:
        raise error
    return actual, expected


def _is_lacking(error: Exception) -> bool:
    """Whether torch merely has no formula here, where clew may have one."""
    text = str(error)
    return (
        "derivative for" in text and "is not implemented" in text
    ) or "does not support automatic differentiation" in text


def _first_grads(
    library: Any, function: Function, args: Any, kwargs: Any, create_graph: bool
) -> tuple[list[Any], list[Any]]:
    """(inputs that require grad, gradients of <result, fixed cotangent> by them)."""
    inputs = _leaves((args, kwargs))
    _seed(library)
    outputs = _differentiable(function(*args, **kwargs))
    if not outputs or not inputs:
        return inputs, [None] * len(inputs)
    shapes = [torch.empty(tuple(t.shape), dtype=_torch_dtype(t)) for t in outputs]
    cotangents = _random_like(shapes, seed=1)
    if library is not torch:
        cotangents = oracle.to_clew(cotangents)
    grads = library.autograd.grad(
        outputs, inputs, cotangents, create_graph=create_graph, allow_unused=True
    )
    return inputs, list(grads)


def _seed(library: Any) -> None:
    """Both libraries draw the same random numbers; torch is to run first."""
    if library is torch:
        oracle.seed_torch()
    else:
        oracle.seed_clew()


def _torch_dtype(tensor: Any) -> torch.dtype:
    dtype: torch.dtype = getattr(torch, short_name(tensor.dtype))
    return dtype


def _assert_same_grads(
    actual: list[Any], expected: list[Any], where: str, absent_is_zero: bool, tol: Any
) -> None:
    assert len(actual) == len(expected), f"{where}: {len(actual)} but torch has {len(expected)}"
    for i, (ours, theirs) in enumerate(zip(actual, expected, strict=True)):
        place = f"{where}[{i}]"
        if theirs is None or ours is None:
            if ours is theirs:
                continue
            present = to_numpy(theirs if ours is None else ours)
            says_nothing = not present.any() if absent_is_zero else not present.size
            assert says_nothing, f"{place}: {_absent(ours)} but torch has {_absent(theirs)}"
            continue
        oracle.assert_same(ours, theirs, *tol, grad_flag=False, where=place)


def _absent(grad: Any) -> str:
    return "no gradient" if grad is None else "a gradient"


def check_grad(
    ours: Function, theirs: Function, args: Any, kwargs: Any, tol: Any = (None, None)
) -> None:
    """The gradient by every input that requires grad equals torch's; None stays None, or empty."""
    ours_args, ours_kwargs = oracle.to_clew((args, kwargs))
    pair = _run_pair(
        lambda: _first_grads(clew, ours, ours_args, ours_kwargs, create_graph=False),
        lambda: _first_grads(torch, theirs, args, kwargs, create_graph=False),
    )
    if pair is not None:
        _assert_same_grads(pair[0][1], pair[1][1], "grad", absent_is_zero=False, tol=tol)


def _second_grads(library: Any, function: Function, args: Any, kwargs: Any) -> list[Any]:
    inputs, grads = _first_grads(library, function, args, kwargs, create_graph=True)
    through = [g for g in grads if g is not None and g.requires_grad]
    if not through:
        return [None] * len(inputs)
    return list(_grad_of(library, through, grads, inputs))


def _grad_of(library: Any, through: list[Any], grads: list[Any], inputs: list[Any]) -> Any:
    # Cotangents are drawn for all gradients, so that both sides agree on them even where
    # one side's gradient is a constant and takes no part.
    shapes = [torch.empty(tuple(x.shape), dtype=_torch_dtype(x)) for x in inputs]
    drawn = _random_like(shapes, seed=2)
    chosen = [d for d, g in zip(drawn, grads, strict=True) if any(g is t for t in through)]
    cotangents = chosen if library is torch else oracle.to_clew(chosen)
    return library.autograd.grad(through, inputs, cotangents, allow_unused=True)


def check_gradgrad(
    ours: Function, theirs: Function, args: Any, kwargs: Any, tol: Any = (None, None)
) -> None:
    """The gradient of <gradient, random> equals torch's; a zero may stand for None."""
    ours_args, ours_kwargs = oracle.to_clew((args, kwargs))
    pair = _run_pair(
        lambda: _second_grads(clew, ours, ours_args, ours_kwargs),
        lambda: _second_grads(torch, theirs, args, kwargs),
    )
    if pair is not None:
        _assert_same_grads(pair[0], pair[1], "second grad", absent_is_zero=True, tol=tol)


def _with_tangents(value: Any, tangents: list[Any], originals: list[Any], make_dual: Any) -> Any:
    if is_tensor(value):
        for tensor, tangent in zip(originals, tangents, strict=True):
            if value is tensor:
                return make_dual(value, tangent)
        return value
    if isinstance(value, (list, tuple)):
        return type(value)(_with_tangents(v, tangents, originals, make_dual) for v in value)
    if isinstance(value, dict):
        return {k: _with_tangents(v, tangents, originals, make_dual) for k, v in value.items()}
    return value


def _inexact(args: Any) -> list[Any]:
    return [t for t in tensors_in(args) if is_inexact(t)]


def _tangents(inputs: list[Any]) -> list[torch.Tensor]:
    shapes = [torch.empty(tuple(t.shape), dtype=_torch_dtype(t)) for t in inputs]
    return _random_like(shapes, seed=3)


def _jvp(library: Any, function: Function, args: Any, kwargs: Any) -> list[Any]:
    """(value, tangent) of each floating-point result; the tangent is None where there is none."""
    inputs = _inexact((args, kwargs))
    tangents: list[Any] = _tangents(inputs)
    if library is not torch:
        tangents = oracle.to_clew(tangents)
    _seed(library)
    forward_ad = library.autograd.forward_ad
    with forward_ad.dual_level():
        duals = _with_tangents((args, kwargs), tangents, inputs, forward_ad.make_dual)
        results = _inexact(function(*duals[0], **duals[1]))
        unpacked = [forward_ad.unpack_dual(r) for r in results]
        return [(u.primal, u.tangent) for u in unpacked]


def _without_repeats(tensor: torch.Tensor) -> torch.Tensor:
    if 0 not in tensor.stride():
        return tensor
    return tensor.detach().contiguous().requires_grad_(tensor.requires_grad)


def check_jvp(
    ours: Function,
    theirs: Function,
    args: Any,
    kwargs: Any,
    tol: Any = (None, None),
    by_transposition: bool = False,
) -> None:
    """Forward mode, all floating-point inputs dual: the tangents equal torch's.

    With `by_transposition` they are compared with torch's gradients instead.
    """
    # torch makes no dual of an expanded tensor, whose tangent could not be written to.
    args, kwargs = tree_map_only(torch.Tensor, _without_repeats, (args, kwargs))
    ours_args, ours_kwargs = oracle.to_clew((args, kwargs))
    expected, refusal = oracle.outcome(_jvp, torch, theirs, args, kwargs)
    actual, error = oracle.outcome(_jvp, clew, ours, ours_args, ours_kwargs)
    if by_transposition or _has_no_forward_mode(refusal):
        _assert_transposed(actual, error, theirs, args, kwargs)
        return
    if refusal is not None:
        oracle.assert_same_error(error, refusal)
        return
    if error is not None:
        raise error
    for part, where in ((0, "primal"), (1, "tangent")):
        _assert_same_grads(
            [a[part] for a in actual],
            [e[part] for e in expected],
            where,
            absent_is_zero=True,
            tol=tol,
        )


def _has_no_forward_mode(refusal: Exception | None) -> bool:
    """Whether torch merely has no forward mode for a function, or one that trips over itself."""
    if isinstance(refusal, NotImplementedError):
        return "forward AD" in str(refusal)
    return "forward grad that itself has a forward gradient" in str(refusal)


def _assert_transposed(
    actual: list[Any], error: Exception | None, theirs: Function, args: Any, kwargs: Any
) -> None:
    """clew's tangents Jt against torch's gradients J'v, where torch has no forward mode.

    The two agree if <v, Jt> = <J'v, t> for a random v. Where torch has no gradient either, clew
    need not have a tangent.
    """
    args, kwargs = tree_map_only(torch.Tensor, _as_leaf, (args, kwargs))
    found, refusal = oracle.outcome(_gradients, theirs, args, kwargs)
    if refusal is not None:
        if not _is_lacking(refusal) and "is not differentiable with respect" not in str(refusal):
            oracle.assert_same_error(error, refusal)
        return
    if error is not None:
        raise error
    cotangents, grads = found
    assert len(actual) == len(cotangents), f"{len(actual)} results, torch has {len(cotangents)}"
    tangents = [None if t is None else to_torch(t) for _, t in actual]
    forward = _inner(cotangents, tangents)
    backward = _inner(grads, _tangents(_inexact((args, kwargs))))
    assert torch.isclose(forward, backward, 1e-7, 1e-7, equal_nan=True), (
        f"tangents: <v, Jt> is {forward.item()} but <J'v, t> of torch is {backward.item()}"
    )


def _gradients(theirs: Function, args: Any, kwargs: Any) -> tuple[list[Any], list[Any]]:
    """A random cotangent for each result (None where it is a constant), and the gradients."""
    oracle.seed_torch()
    outputs = _inexact(theirs(*args, **kwargs))
    cotangents: list[Any] = _random_like(outputs, seed=1)
    kept = [i for i, output in enumerate(outputs) if output.requires_grad]
    grads = torch.autograd.grad(
        [outputs[i] for i in kept],
        _inexact((args, kwargs)),
        [cotangents[i] for i in kept],
        allow_unused=True,
    )
    return [c if i in kept else None for i, c in enumerate(cotangents)], list(grads)


def _as_leaf(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().clone().requires_grad_(is_inexact(tensor))


def _inner(left: list[Any], right: list[Any]) -> torch.Tensor:
    """The real inner product of two lists of tensors; None stands for zeros."""
    products = [
        (a.conj() * b).sum().real
        for a, b in zip(left, right, strict=True)
        if a is not None and b is not None
    ]
    return torch.stack(
        [p.double() for p in products] or [torch.zeros((), dtype=torch.float64)]
    ).sum()
