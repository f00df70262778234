"""Comparing the Jacobians of backward and of forward mode with finite differences.

In slow mode they are compared element by element. In fast mode only products with random vectors
are: v J u for backward, J u for forward mode. Complex outputs (for backward) or inputs (for forward
mode) are checked in two parts, so that the products are those of real functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from clew import errors
from clew.autograd.gradient_checks import gradcheck_errors
from clew.autograd.gradient_checks.analytical_jacobian import backward_products, forward_products
from clew.autograd.gradient_checks.gradcheck_errors import GradcheckError
from clew.autograd.gradient_checks.numerical_jacobian import (
    as_tuple,
    differences_along,
    numerical_jacobian,
)
from clew.core.tensor import Tensor, wrap
from clew.ops.create.random import Generator, rand
from clew.ops.pointwise.complex import complex as complex_of

Func = Callable[..., Any]


class Settings:
    """The options of a check that say how numbers are compared."""

    def __init__(self, eps: float, atol: float, rtol: float, nondet_tol: float, fast: bool) -> None:
        self.eps, self.atol, self.rtol = eps, atol, rtol
        self.nondet_tol, self.fast = nondet_tol, fast


class Part:
    """Which part of complex numbers is looked at."""

    def __init__(self, name: str, numbers: Sequence[int]) -> None:
        self.name = name
        # The outputs or inputs that are complex, by their numbers among those that require grad.
        self.numbers = numbers


class Point:
    """A function, its inputs, and what it gives there."""

    def __init__(self, func: Func, inputs: Sequence[Any], part: Part | None = None) -> None:
        self.func, self.inputs, self.part = func, tuple(inputs), part
        self.all_outputs = as_tuple(func(*inputs))
        for index, output in enumerate(self.all_outputs):
            if not isinstance(output, Tensor):
                raise gradcheck_errors.output_is_no_tensor(index, output)
        # By place: those that require grad.
        self.outputs = {i: out for i, out in enumerate(self.all_outputs) if out.requires_grad}
        self.wanted = {
            i: value
            for i, value in enumerate(inputs)
            if isinstance(value, Tensor) and value.requires_grad
        }

    def values(self) -> list[Tensor]:
        """The outputs that require grad, as they are now."""
        found = as_tuple(self.func(*self.inputs))
        return [found[place] for place in self.outputs]

    def all_values(self) -> tuple[Tensor, ...]:
        return as_tuple(self.func(*self.inputs))

    def output_parts(self) -> Iterator[Point]:
        """This function, or two with the parts of its complex outputs."""
        if not any(out.dtype.is_complex for out in self.all_outputs):
            yield self
            return
        numbers = [i for i, out in enumerate(self.outputs.values()) if out.dtype.is_complex]

        def part(name: str) -> Func:
            def func(*inputs: Any) -> tuple[Tensor, ...]:
                return tuple(
                    getattr(out, name) if out.dtype.is_complex else out
                    for out in as_tuple(self.func(*inputs))
                )

            return func

        for name, attribute in (("imaginary", "imag"), ("real", "real")):
            yield Point(part(attribute), self.inputs, Part(name, numbers))

    def input_parts(self) -> Iterator[Point]:
        """This function, or two of the parts of its complex inputs."""
        places = [
            i
            for i, value in enumerate(self.inputs)
            if isinstance(value, Tensor) and value.dtype.is_complex
        ]
        if not places:
            yield self
            return
        numbers = [i for i, value in enumerate(self.wanted.values()) if value.dtype.is_complex]

        def imaginary(*inputs: Any) -> Any:
            given = list(inputs)
            for place in places:
                given[place] = complex_of(self.inputs[place].real, inputs[place])
            return self.func(*given)

        def real(*inputs: Any) -> Any:
            given = list(inputs)
            for place in places:
                given[place] = complex_of(inputs[place], self.inputs[place].imag)
            return self.func(*given)

        def parts(name: str) -> list[Any]:
            return [
                getattr(value, name) if i in places else value
                for i, value in enumerate(self.inputs)
            ]

        yield Point(imaginary, parts("imag"), Part("imaginary", numbers))
        yield Point(real, parts("real"), Part("real", numbers))


def check_backward(point: Point, settings: Settings) -> None:
    for part in point.output_parts():
        _Comparison(part, settings, "backward").run()


def check_forward(point: Point, settings: Settings) -> list[Point]:
    """Returns the functions of real inputs that were looked at."""
    parts = []
    for part in point.input_parts():
        _Comparison(part, settings, "forward").run()
        parts.append(part)
    return parts


class _Vectors:
    """The vectors of fast mode: the same in each run, and not from the user's stream."""

    def __init__(self, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> None:
        generator = Generator()
        self.of_inputs = [
            [_unit(each, generator) for _ in range(1 + each.dtype.is_complex)] for each in inputs
        ]
        self.of_outputs = [_unit(each, generator) for each in outputs]


def _unit(tensor: Tensor, generator: Generator) -> np.ndarray:
    """Positive numbers of a tensor's size, as a vector of length 1."""
    real = tensor._array.real.dtype
    vector = rand(tensor._array.size, generator=generator)._array.astype(real)
    return vector / (np.linalg.norm(vector) or 1)


class _Comparison:
    """One mode of differentiation against finite differences, at one point."""

    def __init__(self, point: Point, settings: Settings, mode: str) -> None:
        self.point, self.settings, self.mode = point, settings, mode
        self.inputs = list(point.wanted.values())
        self.places = list(point.wanted)
        self.outputs = list(point.outputs.values())

    def run(self) -> None:
        if not self.outputs:
            self.expect_zero()
        elif self.settings.fast:
            self.compare_products()
        elif self.mode == "forward":
            numeric = [self.numerical(tensor) for tensor in self.inputs]
            found = forward_products(
                self.point.func, self.point.inputs, self.places, self.point.outputs
            )
            for i in range(len(self.outputs)):
                for j in range(len(self.inputs)):
                    self.compare(i, j, found[j][i], numeric[j][i])
        else:
            numeric = [self.numerical(tensor) for tensor in self.inputs]
            for i, output in enumerate(self.outputs):
                for j, jacobian in enumerate(self.backward(output)):
                    self.compare(i, j, jacobian, numeric[j][i])

    def expect_zero(self) -> None:
        """Where no output requires grad, none may change."""
        point = self.point
        for place, tensor in point.wanted.items():
            jacobians = numerical_jacobian(
                point.all_values, point.all_outputs, tensor, self.settings.eps
            )
            for number, jacobian in enumerate(jacobians):
                if np.any(jacobian._array != 0):
                    raise gradcheck_errors.not_zero(number, place)

    def numerical(self, tensor: Tensor) -> tuple[Tensor, ...]:
        return numerical_jacobian(self.point.values, self.outputs, tensor, self.settings.eps)

    def backward(self, output: Tensor, v: np.ndarray | None = None) -> list[Tensor]:
        given = None if v is None else [v.reshape(output._array.shape)]
        found = backward_products(self.inputs, output, self.settings.nondet_tol, given)
        if found.misfit is not None:
            number, gradient = found.misfit
            raise gradcheck_errors.misfit(self.inputs[number], self.places[number], gradient)
        if not found.is_reentrant:
            raise gradcheck_errors.not_reentrant(self.settings.nondet_tol)
        return found.columns

    # -- fast mode ---------------------------------------------------------------------------

    def compare_products(self) -> None:
        vectors = _Vectors(self.inputs, self.outputs if self.mode == "backward" else [])
        values, eps = self.point.values, self.settings.eps
        slopes = []
        for tensor, directions in zip(self.inputs, vectors.of_inputs, strict=True):
            # A complex input is also moved in the imaginary direction.
            along = [u * unit for u, unit in zip(directions, (1, 1j), strict=False)]
            slopes.append([differences_along(values, tensor, u, eps) for u in along])
        if self.mode == "forward":
            self.compare_jvps(vectors, slopes)
        else:
            self.compare_vjps(vectors, slopes)

    def compare_jvps(self, vectors: _Vectors, slopes: list[Any]) -> None:
        found = forward_products(
            self.point.func, self.point.inputs, self.places, self.point.outputs, vectors.of_inputs
        )
        for i in range(len(self.outputs)):
            for j in range(len(self.inputs)):
                numeric, analytic = slopes[j][0][i].reshape(-1), found[j][i][0]
                scale = float(vectors.of_inputs[j][0].sum())
                if not self.close(analytic._array, numeric._array, scale):
                    raise self.mismatch(i, j, analytic, numeric)

    def compare_vjps(self, vectors: _Vectors, slopes: list[Any]) -> None:
        found = [
            self.backward(output, v)
            for output, v in zip(self.outputs, vectors.of_outputs, strict=True)
        ]
        for i, v in enumerate(vectors.of_outputs):
            for j, directions in enumerate(vectors.of_inputs):
                gradient = found[i][j]._array[:, 0]
                numeric = sum(
                    np.vdot(v, slope[i]._array) * unit
                    for slope, unit in zip(slopes[j], (1, 1j), strict=False)
                )
                analytic = np.dot(directions[0], gradient.real)
                if len(directions) == 2:
                    analytic = analytic + np.dot(directions[1], gradient.imag) * 1j
                # Each element of J may be off by atol.
                scale = float(sum(u.sum() for u in directions) * v.sum())
                if not self.close(analytic, numeric, scale):
                    raise self.mismatch(i, j, analytic.item(), numeric.item())

    # -- what differs ------------------------------------------------------------------------

    def close(self, analytic: Any, numeric: Any, scale: float = 1.0) -> bool:
        atol, rtol = self.settings.atol * scale, self.settings.rtol
        return bool(np.allclose(analytic, numeric, rtol=rtol, atol=atol))

    def compare(self, i: int, j: int, analytic: Tensor, numeric: Tensor) -> None:
        if not self.close(analytic._array, numeric._array):
            text = self.headline(i, j, analytic, numeric)
            raise GradcheckError(text + self.explained(i, j, analytic, numeric))

    def headline(self, i: int, j: int, analytic: Any, numeric: Any) -> str:
        is_forward, part = self.mode == "forward", self.point.part
        prefix = ""
        if part is not None and (j if is_forward else i) in part.numbers:
            kind = "inputs" if is_forward else "outputs"
            prefix = f"While considering the {part.name} part of complex {kind} only, "
        how = "computed with forward mode " if is_forward else ""
        return (
            f"{prefix}Jacobian {how}mismatch for output {i} with respect to input {j},\n"
            f"numerical:{numeric}\nanalytical:{analytic}\n"
        )

    def mismatch(self, i: int, j: int, analytic: Any, numeric: Any) -> GradcheckError:
        """The products of fast mode differ: what do the Jacobians look like?"""
        text = self.headline(i, j, analytic, numeric)
        slow_numeric = self.numerical(self.inputs[j])[i]
        if self.mode == "forward":
            slow = forward_products(
                self.point.func, self.point.inputs, self.places, self.point.outputs
            )[j][i]
        else:
            slow = self.backward(self.outputs[i])[j]
        gap = np.abs(slow._array - slow_numeric._array).max()
        text += (
            "\nThe above quantities relating the numerical and analytical jacobians are computed \n"
            "in fast mode. Below, we recompute numerical and analytical jacobians in slow mode:\n\n"
            f"Numerical:\n {slow_numeric}\nAnalytical:\n{slow}\n\n"
            f"The max per-element difference (slow mode) is: {gap.item()}.\n"
        )
        if self.close(slow._array, slow_numeric._array):
            text += (
                "Fast gradcheck failed but element-wise differences are small. This means that "
                "the\ntest might've passed in slow_mode!\n"
                "  Pass `fast_mode=False` to compare them so."
            )
            return GradcheckError(text)
        return GradcheckError(text + self.explained(i, j, slow, slow_numeric))

    def explained(self, i: int, j: int, analytic: Tensor, numeric: Tensor) -> str:
        """Which operation made the output, and where the largest difference is."""
        a, n = analytic._array, numeric._array
        gaps = np.abs(a - n)
        # What is no number is the first thing to look at.
        worst = int(np.argmax(np.where(np.isnan(gaps), np.inf, gaps)))
        row, column = np.unravel_index(worst, gaps.shape)
        tensor, output = self.inputs[j], self.outputs[i]
        place = tuple(int(k) for k in np.unravel_index(row, tensor._array.shape))
        made = output.grad_fn
        by = "" if made is None else f", made by {made._name()} at {errors.describe(made._where)}"
        at = "" if self.places[j] == j else f" (argument {self.places[j]} of the function)"
        return (
            f"  {self.mode} mode, output {i}{by}; the largest difference is at element {place} of "
            f"input {j}{at}: {n[row, column]} numerically, {a[row, column]} analytically."
            + self.kink_note(tensor, place, i)
        )

    def kink_note(self, tensor: Tensor, place: tuple[int, ...], i: int) -> str:
        """Whether the slopes on the two sides differ, which no gradient can match."""
        array, eps = tensor._array, self.settings.eps
        before = array[place].copy()
        sides = []
        try:
            for step in (-eps, 0.0, eps):
                array[place] = before + step
                sides.append(self.point.values()[i]._array.copy())
        finally:
            array[place] = before
        behind, here, ahead = sides
        up, down = (ahead - here) / eps, (here - behind) / eps
        if np.allclose(up, down, rtol=1e-2, atol=1e-3, equal_nan=True):
            return ""
        return "\n  The slopes on the two sides differ: the function has a kink at this point."


def positive_vectors(inputs: Sequence[Tensor]) -> list[Tensor]:
    """Tangents for tensors of real numbers: the vectors of fast mode."""
    vectors = _Vectors(inputs, []).of_inputs
    return [wrap(u[0].reshape(each._array.shape)) for each, u in zip(inputs, vectors, strict=True)]
