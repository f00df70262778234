"""The catalogue of errors, continued: what gradcheck finds."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from clew import errors

if TYPE_CHECKING:
    from clew.core.tensor import Tensor

DERIVATIVES = (
    'Please look at "Notes about undefined output gradients" in "tools/autograd/derivatives.yaml"'
)


class GradcheckError(RuntimeError):
    """A gradient that differs from what finite differences say."""


def no_input_requires_grad() -> ValueError:
    return ValueError(
        "gradcheck expects at least one input tensor to require gradient, but none of them have "
        "requires_grad=True." + errors.at_user_line()
    )


def warn_not_double(index: int) -> None:
    warnings.warn(
        f"Input #{index} requires gradient and is not a double precision floating point or "
        "complex. This check will likely fail if all the inputs are not of double precision "
        "floating point or complex. ",
        stacklevel=5,
    )


def overlapping_input(index: int) -> RuntimeError:
    return RuntimeError(
        f"The {index}th input has a dimension with stride 0. gradcheck only supports inputs that "
        "are non-overlapping to be able to compute the numerical gradients correctly. You should "
        "call .contiguous on the input before passing it to gradcheck." + errors.at_user_line()
    )


def lost_step(index: int, dtype: str, eps: float) -> GradcheckError:
    return GradcheckError(
        f"Input #{index} is {dtype}, in which x + eps == x for some of its elements with "
        f"eps={eps}: finite differences would be zero whatever the gradient is. Use float64, or a "
        "larger eps."
    )


def output_is_no_tensor(index: int, output: Any) -> AttributeError:
    return AttributeError(
        f"'{type(output).__name__}' object has no attribute 'requires_grad'\n"
        f"  Output {index} of the function is no tensor, and gradcheck differentiates all of them: "
        "let it return tensors only." + errors.at_user_line()
    )


def not_zero(output: int, place: int) -> GradcheckError:
    return GradcheckError(
        "Numerical gradient for function expected to be zero\n"
        f"  No output of the function requires grad, but output {output} changes with input "
        f"{place}: something on the way cuts the graph (detach, item, numpy, no_grad)."
    )


def not_reentrant(nondet_tol: float) -> GradcheckError:
    return GradcheckError(
        "Backward is not reentrant, i.e., running backward with same input and grad_output "
        "multiple times gives different values, although analytical gradient matches numerical "
        f"gradient.The tolerance for nondeterminism was {nondet_tol}.\n"
        "  If backward draws random numbers or keeps a state on purpose, pass `nondet_tol=`."
    )


def misfit(tensor: Tensor, place: int, found: Tensor) -> GradcheckError:
    return GradcheckError(
        "Analytical gradient has incorrect size\n"
        f"  Input {place} is {tensor.dtype} {errors.shape_list(tensor.shape)}, its gradient is "
        f"{found.dtype} {errors.shape_list(found.shape)}."
    )


def not_multiplied() -> GradcheckError:
    return GradcheckError(
        "backward not multiplied by grad_output\n"
        "  Where the gradient of the output is zero, those of the inputs must be: backward is "
        "linear in its gradient."
    )


def warn_undefined_support() -> None:
    warnings.warn(
        "Backwards compatibility: New undefined gradient support checking feature is enabled by "
        "default, but it may break existing callers of this function. If this is true for you, you "
        'can call this function with "check_undefined_grad=False" to disable the feature',
        stacklevel=6,
    )


def undefined_raises(error: Exception) -> GradcheckError:
    return GradcheckError(
        f"Expected backward function to handle undefined output grads. {DERIVATIVES}\n"
        "  A gradient that is None must be taken as zero. backward raised "
        f"{type(error).__name__}: {error}"
    )


def undefined_gives(place: int) -> GradcheckError:
    return GradcheckError(
        "Expected all input grads to be undefined or zero when all output grads are undefined or "
        f"zero. {DERIVATIVES}\n  The gradient of input {place} is not."
    )


def undefined_tangent(output: int, given: Tensor, zero: Tensor, absent: Tensor) -> GradcheckError:
    return GradcheckError(
        f"Mismatch in tangent values for output with index: {output} when input: {given} has an "
        f"undefined tangent value.  Got: {zero} but expected: {absent}\n"
        "  (The first was computed with a tangent of zeros, the second without one.)"
    )


def batched_raises(error: Exception, is_forward: bool) -> GradcheckError:
    return GradcheckError(
        f"While computing batched gradients, got: {error}\n\n{_batched_failed(is_forward)}"
    )


def batched_differ(
    output: int, number: int, found: Tensor, expected: Tensor, is_forward: bool
) -> GradcheckError:
    return GradcheckError(
        f"For output {output} and input {number}:\n\n{_batched_failed(is_forward)}\n\n"
        f"Got:\n{found}\n\nExpected:\n{expected}"
    )


def _batched_failed(is_forward: bool) -> str:
    if is_forward:
        text, option = (
            "gradcheck failed while testing batched gradient computation with ",
            "forward_",
        )
        text += "forward-mode AD.\n"
    else:
        text, option = "gradcheck or gradgradcheck failed while testing batched gradient ", ""
        text += "computation.\n"
    mode = "jvp" if is_forward else "backward"
    return (
        text + f"  Several gradients at once are computed by vmap over the {mode}: it may use "
        "operations on tensors only, no values of them. "
        f"`check_batched_{option}grad=False` leaves this out."
    )
