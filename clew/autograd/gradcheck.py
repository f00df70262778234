"""Checking gradients against finite differences.

Everything is compared as derivatives of real numbers. A complex input has two directions (real and
imaginary), a complex output two components; for a cotangent v, backward must give the derivative of
Re(conj(v) * output) along each direction, and forward mode must give the derivative itself.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from clew import errors
from clew.autograd import forward_ad
from clew.autograd.backward import grad
from clew.autograd.function import Function
from clew.autograd.mode import enable_grad
from clew.core.tensor import Tensor, wrap

Func = Callable[..., Any]


class GradcheckError(RuntimeError):
    """A gradient that differs from what finite differences say."""


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
        check_grad_dtypes: whether gradients must have the dtype of their inputs
        check_batched_grad: whether batches of gradients must give the same
        check_batched_forward_grad: accepted, together with `check_forward_ad`
        check_forward_ad: whether to check forward mode
        check_backward_ad: whether to check backward
        fast_mode: compare along one random direction instead of all
        masked: accepted; there are no sparse tensors

    Example:
        >>> x = clew.tensor([1., 2.], dtype=clew.float64, requires_grad=True)
        >>> clew.autograd.gradcheck(lambda x: x.sin() * x, x)
        True
    """
    if not check_backward_ad and not check_forward_ad:
        raise AssertionError(
            "Expected at least one of check_forward_ad or check_backward_ad to be True"
        )
    if check_undefined_grad and not check_backward_ad:
        check_undefined_grad = False
    if check_batched_grad and not check_backward_ad:
        raise AssertionError(
            "Setting check_batched_grad=True requires check_backward_ad to be True"
        )
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError(
            "Setting check_batched_forward_grad=True requires check_forward_ad to be True"
        )
    try:
        check = _Check(func, _as_tuple(inputs), eps, atol, rtol, fast_mode)
        if check_backward_ad:
            check.backward(nondet_tol, check_grad_dtypes)
        if check_forward_ad:
            check.forward()
        if check_backward_ad:
            check.zero_grads()
        if check_undefined_grad:
            check.undefined_grads()
        if check_batched_grad:
            check.batched_grads()
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


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
    given = _as_tuple(inputs)
    cotangents = _second_cotangents(func, given, grad_outputs, gen_non_contig_grad_outputs)
    count = len(given)

    def first_gradients(*args: Any) -> tuple[Tensor, ...]:
        values, seeds = args[:count], args[count:]
        wanted = [v for v in values if isinstance(v, Tensor) and v.requires_grad]
        outputs = _differentiable(func(*values))
        found = grad(outputs, wanted, seeds, create_graph=True, allow_unused=True)
        return tuple(g for g in found if isinstance(g, Tensor))

    return gradcheck(
        first_gradients, (*given, *cotangents), eps=eps, atol=atol, rtol=rtol,
        raise_exception=raise_exception, nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad and check_rev_over_rev,
        check_grad_dtypes=check_grad_dtypes, check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev, check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
    )  # fmt: skip


def _second_cotangents(
    func: Func, inputs: tuple[Any, ...], given: Any, non_contiguous: bool
) -> tuple[Tensor, ...]:
    if given is not None:
        return _as_tuple(given)
    rng = np.random.default_rng(0)
    cotangents = []
    for output in _differentiable(func(*inputs)):
        array = _random_like(rng, output._array)
        if non_contiguous:
            doubled = np.repeat(array[..., None], 2, axis=-1)
            array = doubled[..., 0]
        cotangents.append(wrap(array).requires_grad_())
    return tuple(cotangents)


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _differentiable(outputs: Any) -> list[Tensor]:
    return [out for out in _as_tuple(outputs) if isinstance(out, Tensor) and _is_inexact(out)]


def _is_inexact(tensor: Tensor) -> bool:
    return tensor.dtype.is_floating_point or tensor.dtype.is_complex


def _random_like(rng: np.random.Generator, array: np.ndarray) -> np.ndarray:
    values = rng.standard_normal(array.shape)
    if array.dtype.kind == "c":
        values = values + 1j * rng.standard_normal(array.shape)
    return np.asarray(values).astype(array.dtype)


class _UndefinedGrad(Function):
    """Passes its input on, and in backward says that there is no gradient."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor) -> Tensor:
        return tensor.clone()

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return None


class _Check:
    """One function at one point."""

    def __init__(
        self, func: Func, inputs: tuple[Any, ...], eps: float, atol: float, rtol: float, fast: bool
    ) -> None:
        self.func, self.inputs = func, inputs
        self.eps, self.atol, self.rtol, self.fast = eps, atol, rtol, fast
        self.rng = np.random.default_rng(0)
        self.wanted = [
            (index, value)
            for index, value in enumerate(inputs)
            if isinstance(value, Tensor) and value.requires_grad
        ]
        self._check_inputs()
        with enable_grad():
            self.outputs = _differentiable(func(*inputs))
        if not self.outputs:
            raise GradcheckError("gradcheck expects at least one output that is a float tensor")

    def _check_inputs(self) -> None:
        if not self.wanted:
            raise ValueError(
                "gradcheck expects at least one input tensor to require gradient, but none of the "
                "them have requires_grad=True."
            )
        for index, value in self.wanted:
            array = value._array
            value.retain_grad()
            if array.dtype not in (np.dtype(np.float64), np.dtype(np.complex128)):
                warnings.warn(
                    f"Input #{index} requires gradient and is not a double precision floating "
                    "point or complex. This check will likely fail if all the inputs are not of "
                    "double precision floating point or complex. ",
                    stacklevel=4,
                )
                self._refuse_lost_step(index, array)
            if 0 in array.strides and array.size > 1 and array.size != 0:
                raise RuntimeError(
                    f"The {index}th input has a dimension with stride 0. gradcheck only supports "
                    "inputs that are non-overlapping to be able to compute the numerical gradients "
                    "correctly. You should call .contiguous on the input before passing it to "
                    "gradcheck."
                )

    def _refuse_lost_step(self, index: int, array: np.ndarray) -> None:
        """A step that rounding swallows would make every gradient look like zero."""
        real = array.real
        step = np.asarray(self.eps).astype(real.dtype)
        if real.size and bool(np.any(real + step == real)):
            raise GradcheckError(
                f"Input #{index} is {array.dtype.name}, in which x + eps == x for some of its "
                f"elements with eps={self.eps}: finite differences would be zero whatever the "
                "gradient is. Use float64, or a larger eps."
            )

    # -- finite differences ------------------------------------------------------------------

    def values(self) -> list[np.ndarray]:
        with enable_grad():
            return [out._array.copy() for out in _differentiable(self.func(*self.inputs))]

    def difference(self, array: np.ndarray, place: Any, step: complex) -> list[np.ndarray]:
        """The central difference of all outputs when part of an input moves by `step`."""
        before = np.array(array[place])
        try:
            array[place] = before + step
            ahead = self.values()
            array[place] = before - step
            behind = self.values()
        finally:
            array[place] = before
        return [(a - b) / (2 * abs(self.eps)) for a, b in zip(ahead, behind, strict=True)]

    def directions(self, array: np.ndarray) -> list[tuple[Any, Any, np.ndarray]]:
        """(place, step, tangent) for each direction in which an input is moved."""
        units = (1.0, 1j) if array.dtype.kind == "c" else (1.0,)
        if self.fast:
            tangent = _random_like(self.rng, array)
            norm = np.linalg.norm(tangent.ravel()) or 1.0
            tangent = tangent / norm
            return [(..., self.eps * tangent, tangent)]
        found: list[tuple[Any, Any, np.ndarray]] = []
        for place in np.ndindex(array.shape):
            for unit in units:
                tangent = np.zeros(array.shape, array.dtype)
                tangent[place] = unit
                found.append((place, self.eps * unit, tangent))
        return found

    def cotangents(self, output: Tensor) -> list[np.ndarray]:
        """The cotangents that backward is asked for: each component, or a random mix of all."""
        array = output._array
        if self.fast:
            return [_random_like(self.rng, array)]
        found = []
        for place in np.ndindex(array.shape):
            for unit in (1.0, 1j) if array.dtype.kind == "c" else (1.0,):
                v = np.zeros(array.shape, array.dtype)
                v[place] = unit
                found.append(v)
        return found

    # -- the checks --------------------------------------------------------------------------

    def backward(self, nondet_tol: float, check_dtypes: bool) -> None:
        tensors = [value for _, value in self.wanted]
        moves = [(index, value, self.directions(value._array)) for index, value in self.wanted]
        numeric = [
            [self.difference(value._array, place, step) for place, step, _ in directions]
            for _, value, directions in moves
        ]
        for number, output in enumerate(self.outputs):
            if not output.requires_grad:
                self._expect_zero(numeric, number)
                continue
            for v in self.cotangents(output):
                found = self._vjp(output, tensors, v)
                again = self._vjp(output, tensors, v)
                self._check_repeats(found, again, nondet_tol)
                for which, (index, value, directions) in enumerate(moves):
                    self._check_dtype(found[which], value, check_dtypes)
                    expected = np.array(
                        [np.vdot(v, d[number]).real for d in numeric[which]], np.float64
                    )
                    gradient = found[which]
                    analytic = np.array(
                        [0.0 if gradient is None else np.vdot(t, gradient._array).real
                         for _, _, t in directions], np.float64,
                    )  # fmt: skip
                    self._compare("backward", number, index, analytic, expected, directions)

    def _vjp(self, output: Tensor, tensors: list[Tensor], v: np.ndarray) -> Sequence[Any]:
        return grad(output, tensors, wrap(v), retain_graph=True, allow_unused=True)

    def _expect_zero(self, numeric: list[Any], number: int) -> None:
        for which, differences in enumerate(numeric):
            if any(np.any(np.abs(d[number]) > self.atol) for d in differences):
                raise GradcheckError(
                    f"Numerical gradient for function expected to be zero: output {number} does "
                    f"not require grad but changes with input {self.wanted[which][0]}"
                )

    def _check_repeats(self, first: Sequence[Any], second: Sequence[Any], tol: float) -> None:
        for a, b in zip(first, second, strict=True):
            if a is None or b is None:
                continue
            if np.any(np.abs(a._array - b._array) > tol):
                raise GradcheckError(
                    "Backward is not reentrant, i.e., running backward with same input and "
                    "grad_output multiple times gives different values, although analytical "
                    f"gradient matches numerical gradient. The tolerance for nondeterminism was "
                    f"{tol}."
                )

    def _check_dtype(self, found: Any, value: Tensor, wanted: bool) -> None:
        if wanted and found is not None and found.dtype is not value.dtype:
            raise GradcheckError(
                f"Backward gave a gradient of dtype {found.dtype} for an input of dtype "
                f"{value.dtype}"
            )

    def forward(self) -> None:
        for index, value in self.wanted:
            for place, step, tangent in self.directions(value._array):
                expected = self.difference(value._array, place, step)
                found = self._jvp(index, tangent)
                for number, (analytic, numeric) in enumerate(zip(found, expected, strict=True)):
                    flat = np.ravel(analytic)
                    self._compare(
                        "forward", number, index, flat, np.ravel(numeric), [(place, step, tangent)]
                    )

    def _jvp(self, index: int, tangent: np.ndarray) -> list[np.ndarray]:
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(self.inputs[index], wrap(tangent.copy()))
            args = [dual if i == index else v for i, v in enumerate(self.inputs)]
            outs = [forward_ad.unpack_dual(out) for out in _differentiable(self.func(*args))]
            return [
                np.zeros_like(out.primal._array) if out.tangent is None else out.tangent._array
                for out in outs
            ]

    def zero_grads(self) -> None:
        """A gradient of zero must give zeros: backward is linear."""
        outputs = [out for out in self.outputs if out.requires_grad]
        if not outputs:
            return
        tensors = [value for _, value in self.wanted]
        seeds = [wrap(np.zeros_like(out._array)) for out in outputs]
        found = grad(outputs, tensors, seeds, retain_graph=True, allow_unused=True)
        if any(g is not None and np.any(g._array != 0) for g in found):
            raise GradcheckError("backward not multiplied by grad_output")

    def undefined_grads(self) -> None:
        """A gradient that is absent must be taken as zero."""
        tensors = [value for _, value in self.wanted]
        with enable_grad():
            outputs = [out for out in _differentiable(self.func(*self.inputs)) if out.requires_grad]
            absent = [_UndefinedGrad.apply(out) for out in outputs]
        if not absent:
            return
        seeds = [wrap(_random_like(self.rng, out._array)) for out in absent]
        try:
            found = grad(absent, tensors, seeds, allow_unused=True)
        except (RuntimeError, TypeError, AttributeError) as error:
            raise GradcheckError(
                "Expected backward function to handle undefined output grads. Please look at "
                '"Notes about undefined output gradients" in "tools/autograd/derivatives.yaml".'
                f"\n  It raised {type(error).__name__}: {error}"
            ) from error
        if any(g is not None and np.any(g._array != 0) for g in found):
            raise GradcheckError(
                "Expected all input grads to be undefined or zero when all output grads are "
                "undefined or zero."
            )

    def batched_grads(self) -> None:
        """Several cotangents at once must give what they give one by one."""
        tensors = [value for _, value in self.wanted]
        for output in self.outputs:
            if not output.requires_grad:
                continue
            rows = [_random_like(self.rng, output._array) for _ in range(3)]
            # What inputs retain of a batch has no meaning after it.
            retained = [value._grad for value in tensors]
            for value in tensors:
                value._grad = None
            batched = grad(
                output, tensors, wrap(np.stack(rows)), retain_graph=True, allow_unused=True,
                is_grads_batched=True,
            )  # fmt: skip
            for value, kept in zip(tensors, retained, strict=True):
                value._grad = kept
            for number, row in enumerate(rows):
                for many, one in zip(batched, self._vjp(output, tensors, row), strict=True):
                    if one is not None and not np.allclose(many._array[number], one._array):
                        raise GradcheckError("Batched gradients differ from single ones")

    def _compare(
        self, mode: str, output: int, index: int, analytic: np.ndarray, numeric: np.ndarray,
        directions: list[Any],
    ) -> None:  # fmt: skip
        close = np.isclose(analytic, numeric, rtol=self.rtol, atol=self.atol, equal_nan=True)
        if close.all():
            return
        worst = int(np.argmax(np.where(close, 0, np.abs(analytic - numeric))))
        made = self.outputs[output].grad_fn
        by = "" if made is None else f", made by {made.name()} at {errors.describe(made._where)}"
        place = directions[min(worst, len(directions) - 1)][0]
        where = "a random direction" if self.fast else f"element {place}"
        raise GradcheckError(
            f"Jacobian mismatch for output {output} with respect to input {index},\n"
            f"numerical:{numeric}\nanalytical:{analytic}\n"
            f"  {mode} mode, output {output}{by}; the largest difference is at {where}: "
            f"{numeric[worst]} numerically, {analytic[worst]} analytically."
            + self._kink_note(index, directions[min(worst, len(directions) - 1)], output)
        )

    def _kink_note(self, index: int, direction: Any, output: int) -> str:
        """Whether the slopes on the two sides differ, which no gradient can match."""
        place, step, _ = direction
        array = self.inputs[index]._array
        before, here = np.array(array[place]), self.values()[output]
        try:
            array[place] = before + step
            ahead = (self.values()[output] - here) / self.eps
            array[place] = before - step
            behind = (here - self.values()[output]) / self.eps
        finally:
            array[place] = before
        if np.allclose(ahead, behind, rtol=1e-2, atol=1e-3):
            return ""
        return "\n  The slopes on the two sides differ: the function has a kink at this point."
