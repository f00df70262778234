"""Complex numbers: their parts, their conjugate, and tensors made of parts.

Gradients follow PyTorch's convention: for a real loss L of z = a + ib, the gradient of z is
dL/da + i dL/db, so a holomorphic step multiplies by the conjugate of its derivative.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.arguments import explained
from clew.core.casting import FLOAT32, casts
from clew.core.inplace import become
from clew.core.mirror import CONJ as CONJ_BIT
from clew.core.mirror import NEG as NEG_BIT
from clew.core.mirror import bits_of, flipped, memory_behind, unfilled
from clew.core.op import Op
from clew.core.public import FUNCTIONS, methods, out_doc, public
from clew.core.result_layout import laid_out
from clew.core.state import local
from clew.core.tensor import Tensor, every_value
from clew.core.view_op import MirrorOp
from clew.kernels.codegen.ir import where
from clew.kernels.codegen.ufunc import elementwise
from clew.kernels.numpy.arrays import imaginary_part, real_part
from clew.kernels.numpy.strides import restride
from clew.ops.define import out_checks
from clew.ops.define.memory_layout import (
    for_kinds,
    in_memory_as,
    in_rows,
    strides_in_elements,
)
from clew.ops.define.rows import SAME_OUT, Row, out_form, require_tensors
from clew.ops.pointwise.arithmetic import zeros_of
from clew.ops.pointwise.clamping import WHERE
from clew.ops.tensor.copying import CLONE

# -- parts as views --------------------------------------------------------------------------


def _pairs(self: np.ndarray) -> np.ndarray:
    memory, bits = memory_behind(self), bits_of(self)
    first = real_part(memory)
    shape, strides = (*memory.shape, 2), (*memory.strides, first.itemsize)
    return unfilled(restride(first, shape, strides), bits)


def _from_pairs(self: np.ndarray) -> np.ndarray:
    dtype = dtypes.complex_of(dtypes.BY_NUMPY[self.dtype]).np
    shape = self.shape[:-1]
    if not self.size:
        return np.empty(shape, dtype)
    memory, bits = memory_behind(self), bits_of(self)
    return unfilled(memory.view(dtype)[..., 0], bits)


def _real_part(self: np.ndarray) -> np.ndarray:
    return unfilled(real_part(memory_behind(self)), bits_of(self) & NEG_BIT)


def _imaginary_part(self: np.ndarray) -> np.ndarray:
    bits = bits_of(self)
    # The imaginary part of a conjugate is the negative one.
    is_negative = bool(bits & CONJ_BIT) != bool(bits & NEG_BIT)
    return unfilled(imaginary_part(memory_behind(self)), NEG_BIT if is_negative else 0)


VIEW_AS_REAL: MirrorOp = MirrorOp(
    "view_as_real", _pairs, grads={"self": lambda g: VIEW_AS_COMPLEX(g.contiguous())}, linear=True
)
VIEW_AS_COMPLEX: MirrorOp = MirrorOp(
    "view_as_complex", _from_pairs, grads={"self": lambda g: VIEW_AS_REAL(g)}, linear=True
)


def _as_pairs(gradient: Tensor) -> Tensor:
    """The gradient of a part of complex numbers: a view of pairs, as in PyTorch."""
    result: Tensor = VIEW_AS_COMPLEX(VIEW_AS_REAL(gradient))
    return result


REAL_PART: MirrorOp = MirrorOp(
    "real", _real_part, node="SelectBackward0", linear=True,
    grads={"self": lambda g: _as_pairs(COMPLEX(g, zeros_of(g)))},
)  # fmt: skip
IMAGINARY_PART: MirrorOp = MirrorOp(
    "imag", _imaginary_part, node="SelectBackward0", linear=True,
    grads={"self": lambda g: _as_pairs(COMPLEX(zeros_of(g), g))},
)  # fmt: skip


@public(method=False, out=False)
def view_as_real(input: Tensor) -> Tensor:
    """A real view of a complex tensor, with real and imaginary part as a last dimension.

    Args:
        input: a complex tensor

    Example:
        >>> clew.view_as_real(clew.tensor([1 + 2j, 3 - 4j]))
        tensor([[ 1.,  2.],
                [ 3., -4.]])
    """
    if not input.dtype.is_complex:
        raise RuntimeError(
            "view_as_real is only supported for complex tensors" + errors.at_user_line()
        )
    if is_conj(input):
        raise RuntimeError(
            "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate "
            "tensor so you can view it as real, use self.resolve_conj(); however, be warned that "
            "the resulting tensor will NOT alias the original." + errors.at_user_line()
        )
    return VIEW_AS_REAL(input)


@public(method=False, out=False)
@casts(FLOAT32)
def view_as_complex(input: Tensor) -> Tensor:
    """A complex view of a real tensor, whose last dimension holds the two parts.

    Args:
        input: a tensor of float32 or float64 with a last dimension of size 2

    Example:
        >>> clew.view_as_complex(clew.tensor([[1., 2.], [3., -4.]]))
        tensor([1.+2.j, 3.-4.j])
    """
    array = input._array
    strides = strides_in_elements(array)
    problem = ""
    if input.dtype not in (dtypes.float16, dtypes.float32, dtypes.float64):
        problem = (
            "view_as_complex is only supported for half, float and double tensors, but got a "
            f"tensor of scalar type: {input.dtype.scalar_name}"
        )
    elif not array.ndim:
        problem = "Input tensor must have one or more dimensions"
    elif array.shape[-1] != 2:
        problem = "Tensor must have a last dimension of size 2"
    elif strides[-1] != 1:
        problem = "Tensor must have a last dimension with stride 1"
    elif any(stride % 2 for stride in strides[:-1]):
        problem = "Tensor must have a stride divisible by 2 for all but last dimension"
    if problem:
        raise RuntimeError(problem + errors.at_user_line())
    return VIEW_AS_COMPLEX(input)


def _bits(input: Tensor) -> int:
    return bits_of(input._layout if local.state.intercept is None else every_value(input))


def real(input: Tensor) -> Tensor:
    """The real part, as a view; a real tensor itself.

    Args:
        input: a tensor

    Example:
        >>> clew.tensor([1 + 2j, 3 - 4j]).real
        tensor([1., 3.])
    """
    if not input.dtype.is_complex:
        return input
    return REAL_PART(CONJ(input) if _bits(input) & CONJ_BIT else input)


def imag(input: Tensor) -> Tensor:
    """The imaginary part of a complex tensor, as a view.

    Args:
        input: a complex tensor

    Example:
        >>> clew.tensor([1 + 2j, 3 - 4j]).imag
        tensor([ 2., -4.])
    """
    if not input.dtype.is_complex:
        raise RuntimeError(
            "imag is not implemented for tensors with non-complex dtypes." + errors.at_user_line()
        )
    # Of a conjugate view, the negative of what the memory has: gradients are then no such views.
    return IMAGINARY_PART(NEG_VIEW(CONJ(input)) if _bits(input) & CONJ_BIT else input)


def _set_real(self: Tensor, value: Any) -> None:
    real(self).copy_(value)


def _set_imag(self: Tensor, value: Any) -> None:
    imag(self).copy_(value)


FUNCTIONS.update(real=explained(real), imag=explained(imag))
methods(real=property(real, _set_real), imag=property(imag, _set_imag))

# -- conjugates ------------------------------------------------------------------------------

CONJ = MirrorOp(
    "conj", lambda self: flipped(self, CONJ_BIT), same_layout=True,
    grads={"self": lambda g: g.conj()}, linear=True,
)  # fmt: skip
NEG_VIEW = MirrorOp(
    "neg_view", lambda self: flipped(self, NEG_BIT), same_layout=True,
    grads={"self": lambda g: g.neg()}, linear=True,
)  # fmt: skip
CONJ_PHYSICAL = Op(
    "conj_physical", lambda self: in_memory_as(self, np.conjugate(self)),
    grads={"self": lambda g: g.conj_physical()}, linear=True,
)  # fmt: skip


@public(out=False)
def conj(input: Tensor) -> Tensor:
    """The complex conjugate, as a view that shares memory; a real tensor itself.

    Args:
        input: a tensor

    Example:
        >>> x = clew.tensor([1 + 2j, 3 - 4j])
        >>> clew.conj(x)
        tensor([1.-2.j, 3.+4.j])
        >>> clew.conj(x).is_conj()
        True
    """
    require_tensors("conj", input=input)
    return CONJ(input) if input.dtype.is_complex else input


@public(out=False)
def conj_physical(input: Tensor) -> Tensor:
    """The complex conjugate in memory of its own; a real tensor itself.

    Args:
        input: a tensor

    Example:
        >>> clew.conj_physical(clew.tensor([1 + 2j])).is_conj()
        False
    """
    require_tensors("conj_physical", input=input)
    return CONJ_PHYSICAL(input) if input.dtype.is_complex else input


@public(out=False)
def resolve_conj(input: Tensor) -> Tensor:
    """A copy of a conjugate view, with the conjugates in its memory; any other tensor itself.

    Args:
        input: a tensor

    Example:
        >>> x = clew.tensor([1 + 2j]).conj()
        >>> x.is_conj(), x.resolve_conj().is_conj()
        (True, False)
    """
    return CLONE(input, memory_format=None) if is_conj(input) else input


@public(out=False)
def resolve_neg(input: Tensor) -> Tensor:
    """A copy of a negative view, with the negatives in its memory; any other tensor itself.

    Args:
        input: a tensor

    Example:
        >>> x = clew.tensor([1 + 2j]).conj().imag
        >>> x.is_neg(), x.resolve_neg().is_neg()
        (True, False)
    """
    return CLONE(input, memory_format=None) if is_neg(input) else input


@public(out=False)
def is_conj(input: Tensor) -> bool:
    """Whether a tensor shows the conjugates of the numbers in its memory.

    Args:
        input: a tensor

    Example:
        >>> x = clew.tensor([1 + 2j])
        >>> x.is_conj(), x.conj().is_conj()
        (False, True)
    """
    require_tensors("is_conj", input=input)
    return bool(_bits(input) & CONJ_BIT)


@public(out=False)
def is_neg(input: Tensor) -> bool:
    """Whether a tensor shows the negatives of the numbers in its memory.

    Args:
        input: a tensor

    Example:
        >>> clew.tensor([1 + 2j]).conj().imag.is_neg()
        True
    """
    require_tensors("is_neg", input=input)
    return bool(_bits(input) & NEG_BIT)


def _neg_view(input: Tensor) -> Tensor:
    """The negative of a tensor, as a view."""
    return NEG_VIEW(input)


def _conj_physical_(self: Tensor) -> Tensor:
    return become(self, conj_physical, "conj_physical_")


@functools.wraps(conj_physical)
def _conj_physical_function(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    if out is None:
        return conj_physical(input)
    differentiable = True if input.dtype.is_complex else None
    return out_form(conj_physical, SAME_OUT, differentiable)(input, out=out)


methods(conj_physical_=_conj_physical_, _neg_view=_neg_view)
FUNCTIONS["_neg_view"] = _neg_view
_conj_physical_function.__doc__ = out_doc(conj_physical.__doc__)
FUNCTIONS["conj_physical"] = _conj_physical_function

# -- tensors made of parts -------------------------------------------------------------------


def _complex(real: np.ndarray, imag: np.ndarray) -> np.ndarray:
    dtype = dtypes.complex_of(dtypes.BY_NUMPY[real.dtype]).np
    result = np.empty(np.broadcast_shapes(real.shape, imag.shape), dtype)
    real_part(result)[...] = real
    imaginary_part(result)[...] = imag
    return laid_out((real, imag), result)


COMPLEX: Op = Op(
    "complex", _complex, linear=True,
    grads={"real": lambda g, real: g.real, "imag": lambda g, imag: g.imag},
)  # fmt: skip


def _polar(abs: np.ndarray, angle: np.ndarray) -> np.ndarray:
    return laid_out((abs, angle), _complex(abs * np.cos(angle), abs * np.sin(angle)))


POLAR = Op(
    "polar", _polar,
    grads={
        "abs": lambda g, out: (g.conj() * out.sgn()).real,
        "angle": lambda g, out: (g.conj() * (out * 1j)).real,
    },
)  # fmt: skip


def _check_parts(name: str, first: Tensor, second: Tensor, names: tuple[str, str]) -> None:
    require_tensors(name, **dict(zip(names, (first, second), strict=True)))
    halves = (dtypes.float16, dtypes.float32, dtypes.float64)
    if first.dtype not in halves or second.dtype not in halves:
        raise RuntimeError(
            "Expected both inputs to be Half, Float or Double tensors but got "
            f"{first.dtype.scalar_name} and {second.dtype.scalar_name}" + errors.at_user_line()
        )
    if first.dtype is not second.dtype:
        raise RuntimeError(
            f"Expected object of scalar type {first.dtype.scalar_name} but got scalar type "
            f"{second.dtype.scalar_name} for second argument" + errors.at_user_line()
        )
    if name == "polar" and first.dtype is dtypes.float16:
        raise errors.no_kernel("polar_cpu", first.dtype)
    mismatch = errors.broadcast_mismatch(name, first._array.shape, second._array.shape)
    if mismatch is not None:
        raise mismatch


@public(method=False, out=False)
def complex(real: Tensor, imag: Tensor) -> Tensor:
    """A complex tensor from its real and imaginary part.

    Args:
        real: the real part, a tensor of floats
        imag: the imaginary part, of the same dtype; the two broadcast

    Example:
        >>> clew.complex(clew.tensor([1., 2.]), clew.tensor([3., 4.]))
        tensor([1.+3.j, 2.+4.j])
    """
    _check_parts("complex", real, imag, ("real", "imag"))
    return COMPLEX(real, imag)


@public(method=False, out=False)
@casts(FLOAT32)
def polar(abs: Tensor, angle: Tensor) -> Tensor:
    """A complex tensor from its absolute value and angle.

    Args:
        abs: the absolute value, a tensor of floats
        angle: the angle in radians, of the same dtype; the two broadcast

    Example:
        >>> clew.polar(clew.tensor([1., 2.]), clew.tensor([0., 0.5]))
        tensor([1.0000+0.0000j, 1.7552+0.9589j])
    """
    _check_parts("polar", abs, angle, ("abs", "angle"))
    return POLAR(abs, angle)


_OUT = "Expected object of scalar type {expected} but got scalar type {found} for argument 'out'"
FUNCTIONS.update(complex=out_form(complex, _OUT), polar=out_form(polar, _OUT))

# -- angle -----------------------------------------------------------------------------------


@elementwise("angle", 1, half=True)
def _ANGLE_KERNEL(x: Any) -> Any:
    return where(x.ne(x), x, where(x < 0.0, x.like(np.pi), 0.0))


def _angle(self: np.ndarray) -> Any:
    if self.dtype.kind in "cW":
        return np.angle(self)
    return _ANGLE_KERNEL.specialize(self)(self)


def _grad_of_angle(g: Tensor, self: Tensor) -> Tensor:
    if not self.dtype.is_complex:
        return zeros_of(g)
    size = self.abs()
    return WHERE(size == 0, 0, self * 1j / (size * size) * g)


class Angle(Row):
    """Integers have angles in the default float, complex numbers in their real type."""

    def result_dtype(self, inputs: tuple[Any, ...]) -> tuple[dtypes.dtype, dtypes.dtype]:
        compute, result = super().result_dtype(inputs)
        return compute, result.to_real()


ANGLE = Angle(
    "angle", _angle, rule="float", grads={"self": _grad_of_angle}, kinks="0 at 0",
    placement=for_kinds("cW", in_rows),
)  # fmt: skip
ANGLE.keeps_promoted = False


@public(out=out_checks.same_or_apart)
def angle(input: Tensor) -> Tensor:
    """The angle of complex numbers in radians; 0 or pi for real ones.

    Args:
        input: a tensor

    Example:
        >>> clew.angle(clew.tensor([1 + 1j, -1j]))
        tensor([ 0.7854, -1.5708])
        >>> clew.angle(clew.tensor([1., -1.]))
        tensor([0.0000, 3.1416])
    """
    require_tensors("angle", input=input)
    return ANGLE(input)
