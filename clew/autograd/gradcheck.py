"""Checking gradients against finite differences."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from clew.autograd import gradient_checks
from clew.autograd.backward import grad
from clew.autograd.gradient_checks import gradcheck_errors
from clew.autograd.gradient_checks.gradcheck_errors import GradcheckError
from clew.core.tensor import Tensor, wrap
from clew.ops.pointwise.complex import view_as_real

__all__ = [
    "GradcheckError",
    "get_analytical_jacobian",
    "get_numerical_jacobian",
    "get_numerical_jacobian_wrt_specific_input",
    "gradcheck",
    "gradgradcheck",
]

Func = Callable[..., Any]


def gradcheck(
    func: Func,
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Whether the gradients of `func` agree with finite differences at `inputs`.

    Args:
        func: a function of tensors
        inputs: the arguments; those that are checked are float64 and require a gradient
        eps: the step of the finite differences
        atol: the absolute error that is allowed
        rtol: the relative error that is allowed
        raise_exception: raise GradcheckError on a difference, instead of returning False
        nondet_tol: how much two runs of backward may differ
        check_undefined_grad: whether backward must cope with gradients that are None
        check_grad_dtypes: accepted; a gradient of another dtype than its input's is always found
        check_batched_grad: whether batches of gradients must give the same
        check_batched_forward_grad: whether batches of tangents must give the same
        check_forward_ad: whether to check forward mode
        check_backward_ad: whether to check backward
        fast_mode: compare along one random direction instead of all
        masked: accepted; of sparse tensors only listed elements are moved, in any case

    Example:
        >>> x = clew.tensor([1., 2.], dtype=clew.float64, requires_grad=True)
        >>> clew.autograd.gradcheck(lambda x: x.sin() * x, x)
        True
    """
    if not check_backward_ad and not check_forward_ad:
        raise AssertionError(
            "Expected at least one of check_forward_ad or check_backward_ad to be True"
        )
    if check_batched_grad and not check_backward_ad:
        raise AssertionError(
            "Setting check_batched_grad=True requires check_backward_ad to be True"
        )
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError(
            "Setting check_batched_forward_grad=True requires check_forward_ad to be True"
        )
    settings = gradient_checks.jacobian_check.Settings(eps, atol, rtol, nondet_tol, fast_mode)
    try:
        values = gradient_checks.numerical_jacobian.as_tuple(inputs)
        if gradient_checks.sparse_inputs.has_sparse(values):
            func, values = gradient_checks.sparse_inputs.over_values(func, values)
        point = _checked_point(func, values, eps)
        if check_backward_ad:
            gradient_checks.jacobian_check.check_backward(point, settings)
        if check_forward_ad:
            parts = gradient_checks.jacobian_check.check_forward(point, settings)
            for part in parts if check_undefined_grad else ():
                gradient_checks.gradient_properties.check_undefined_tangents(part)
        if check_batched_forward_grad:
            gradient_checks.gradient_properties.check_batched_tangents(point)
        if check_batched_grad:
            gradient_checks.gradient_properties.check_batched_grads(point)
        if check_backward_ad:
            gradient_checks.gradient_properties.check_zero_grads(point)
            if check_undefined_grad:
                gradient_checks.gradient_properties.check_undefined_grads(point)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _checked_point(
    func: Func, inputs: tuple[Any, ...], eps: float
) -> gradient_checks.jacobian_check.Point:
    wanted = [
        (index, value)
        for index, value in enumerate(inputs)
        if isinstance(value, Tensor) and value.requires_grad
    ]
    for index, value in wanted:
        array = value._array
        if array.dtype not in (np.dtype(np.float64), np.dtype(np.complex128)):
            gradcheck_errors.warn_not_double(index)
            _refuse_lost_step(index, array, eps)
        if any(
            not step and size > 1 for step, size in zip(value.stride(), value.shape, strict=True)
        ):
            raise gradcheck_errors.overlapping_input(index)
    if not wanted:
        raise gradcheck_errors.no_input_requires_grad()
    return gradient_checks.jacobian_check.Point(func, inputs)


def _refuse_lost_step(index: int, array: np.ndarray, eps: float) -> None:
    """A step that rounding swallows would make every gradient look like zero."""
    real = array.real
    step = np.asarray(eps).astype(real.dtype)
    if real.size and bool(np.any(real + step == real)):
        raise gradcheck_errors.lost_step(index, array.dtype.name, eps)


def gradgradcheck(
    func: Func,
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Whether the gradients of the gradients of `func` agree with finite differences.

    Args:
        func: a function of tensors
        inputs: the arguments; those that are checked are float64 and require a gradient
        grad_outputs: the gradients of the outputs; by default, random ones
        eps, atol, rtol, raise_exception, nondet_tol: as in `gradcheck`
        gen_non_contig_grad_outputs: make the random gradients non-contiguous
        check_undefined_grad, check_grad_dtypes, check_batched_grad: as in `gradcheck`
        check_fwd_over_rev: whether to check forward mode over backward
        check_rev_over_rev: whether to check backward over backward
        fast_mode, masked: as in `gradcheck`

    Example:
        >>> x = clew.tensor([1., 2.], dtype=clew.float64, requires_grad=True)
        >>> clew.autograd.gradgradcheck(lambda x: x**3, x)
        True
    """
    if not check_rev_over_rev and not check_fwd_over_rev:
        raise AssertionError(
            "Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True"
        )
    for name, given in (
        ("check_undefined_grad", check_undefined_grad),
        ("check_batched_grad", check_batched_grad),
    ):
        if given and not check_rev_over_rev:
            raise AssertionError(f"Setting {name}=True requires check_rev_over_rev to be True")
    values = gradient_checks.numerical_jacobian.as_tuple(inputs)
    if gradient_checks.sparse_inputs.has_sparse(values):
        func, values = gradient_checks.sparse_inputs.over_values(func, values)
    if grad_outputs is None:
        outputs = gradient_checks.jacobian_check.Point(func, values).outputs.values()
        cotangents = tuple(_random_like(out, gen_non_contig_grad_outputs) for out in outputs)
    else:
        cotangents = gradient_checks.numerical_jacobian.as_tuple(grad_outputs)
    wanted = [isinstance(value, Tensor) and value.requires_grad for value in values]

    def first_gradients(*args: Any) -> tuple[Tensor, ...]:
        # In forward mode the inputs come without requires_grad.
        given = [
            value.requires_grad_() if need and not value.requires_grad else value
            for value, need in zip(args, wanted, strict=False)
        ]
        outputs = list(gradient_checks.jacobian_check.Point(func, given).outputs.values())
        if not outputs:
            return ()
        found = grad(
            outputs,
            [value for value, need in zip(given, wanted, strict=True) if need],
            args[len(values) :],
            create_graph=True,
            allow_unused=True,
        )
        return tuple(g for g in found if isinstance(g, Tensor))

    return gradcheck(
        first_gradients, (*values, *cotangents), eps=eps, atol=atol, rtol=rtol,
        raise_exception=raise_exception, nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad, check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad, check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev, fast_mode=fast_mode, masked=masked,
    )  # fmt: skip


def _random_like(output: Tensor, has_gaps: bool) -> Tensor:
    """Numbers from -1 to 1, in memory where they follow each other or not."""
    drawn = wrap(np.empty(output._array.shape, output._array.dtype))
    has_gaps = has_gaps and output._array.size > 1
    if has_gaps:
        drawn = drawn.repeat_interleave(2, -1)
    (view_as_real(drawn) if output.dtype.is_complex else drawn).uniform_(-1, 1)
    return (drawn[..., 1::2] if has_gaps else drawn).requires_grad_()


# -- names that PyTorch keeps for old programs ---------------------------------------------------


def _deprecated(name: str, grad_out: float, outputs: Sequence[Tensor]) -> None:
    warnings.warn(
        f"`{name}` was part of PyTorch's private API and not meant to be exposed. We are "
        "deprecating it and it will be removed in a future version of PyTorch. Use "
        "`torch.autograd.gradcheck`, or `torch.autograd.functional.jacobian`.",
        FutureWarning,
        stacklevel=3,
    )
    if grad_out != 1.0:
        raise ValueError(
            f"Expected grad_out to be 1.0. {name} no longer supports values of grad_out != 1.0."
        )
    if any(output.dtype.is_complex for output in outputs):
        raise ValueError(
            f"Expected output to be non-complex. {name} no longer supports functions that return "
            "complex outputs."
        )


def get_numerical_jacobian(
    fn: Func, inputs: Sequence[Any], target: Any = None, eps: float = 1e-3, grad_out: float = 1.0
) -> tuple[Tensor, ...]:
    """The Jacobians of the first output of `fn(inputs)` by finite differences."""
    numerical = gradient_checks.numerical_jacobian
    outputs = numerical.as_tuple(fn(inputs))
    _deprecated("get_numerical_jacobian", grad_out, outputs)
    wanted = [
        value
        for value in numerical.as_tuple(inputs if target is None else target)
        if isinstance(value, Tensor)
        and value.requires_grad
        and any(value is each for each in numerical.as_tuple(inputs))
    ]
    return tuple(
        numerical.numerical_jacobian(lambda: numerical.as_tuple(fn(inputs)), outputs, value, eps)[0]
        for value in wanted
    )


def get_numerical_jacobian_wrt_specific_input(
    fn: Func,
    input_idx: int,
    inputs: Sequence[Any],
    outputs: Sequence[Tensor],
    eps: float,
    input: Tensor | None = None,
    is_forward_ad: bool = False,
) -> tuple[Tensor, ...]:
    """The Jacobians of all outputs of `fn(*inputs)` with respect to one input."""
    numerical = gradient_checks.numerical_jacobian
    moved = inputs[input_idx] if input is None else input
    return numerical.numerical_jacobian(
        lambda: numerical.as_tuple(fn(*inputs)), outputs, moved, eps
    )


def get_analytical_jacobian(
    inputs: Sequence[Any], output: Tensor, nondet_tol: float = 0.0, grad_out: float = 1.0
) -> tuple[tuple[Tensor, ...], bool, bool, bool]:
    """The Jacobians of an output by backward; whether a second one gave the same, and fits."""
    _deprecated("get_analytical_jacobian", grad_out, [output])
    wanted = [value for value in inputs if isinstance(value, Tensor) and value.requires_grad]
    found = gradient_checks.analytical_jacobian.backward_products(wanted, output, nondet_tol)
    return tuple(found.columns), found.is_reentrant, found.misfit is None, True
