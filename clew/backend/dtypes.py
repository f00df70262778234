"""dtypes and PyTorch's type promotion.

A `dtype` is a singleton that wraps the NumPy dtype which stores it. Promotion follows categories
(bool < integer < float < complex): a Python number, or a 0-dim tensor beside tensors with
dimensions, only matters when its category is higher than everybody else's.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

BOOL, INTEGER, FLOAT, COMPLEX = range(4)


# The words that PyTorch's error messages use.
_SCALAR_NAMES = {
    "bool": "Bool", "uint8": "Byte", "int8": "Char", "int16": "Short", "int32": "Int",
    "int64": "Long", "uint16": "UInt16", "uint32": "UInt32", "uint64": "UInt64",
    "float16": "Half", "bfloat16": "BFloat16", "float32": "Float", "float64": "Double",
    "complex64": "ComplexFloat", "complex128": "ComplexDouble", "complex32": "ComplexHalf",
    "qint8": "QInt8", "quint8": "QUInt8", "qint32": "QInt32", "quint4x2": "QUInt4x2",
    "quint2x4": "QUInt2x4",
}  # fmt: skip

# C++'s words for them, which other messages use.
_C_NAMES = {
    "uint8": "unsigned char", "int8": "signed char", "int16": "short int", "int32": "int",
    "int64": "long int", "uint16": "short unsigned int", "uint32": "unsigned int",
    "uint64": "long unsigned int", "float32": "float", "float64": "double", "bool": "bool",
    "float16": "c10::Half", "bfloat16": "c10::BFloat16", "complex32": "c10::complex<c10::Half>",
    "complex64": "c10::complex<float>", "complex128": "c10::complex<double>",
}  # fmt: skip


class dtype:
    """The type of a tensor's elements, e.g. `clew.float32`.

    Example:
        >>> clew.float32.itemsize, clew.float32.is_floating_point
        (4, True)
        >>> clew.float32.to_complex()
        torch.complex64
    """

    __slots__ = ("category", "is_signed", "itemsize", "name", "np", "order", "scalar_name")

    def __init__(self, name: str, np_dtype: Any, category: int, order: int) -> None:
        self.name = name
        self.np = np.dtype(np_dtype)
        self.category = category
        self.order = order
        self.itemsize = self.np.itemsize
        self.scalar_name = _SCALAR_NAMES.get(name) or name.capitalize()
        self.is_signed = not (name.startswith("uint") or name in ("bool", "float8_e8m0fnu"))

    @property
    def c_name(self) -> str:
        """What PyTorch's C++ calls it."""
        return _C_NAMES.get(self.name) or f"c10::{self.scalar_name}"

    @property
    def is_floating_point(self) -> bool:
        return self.category == FLOAT

    @property
    def is_complex(self) -> bool:
        return self.category == COMPLEX

    def to_real(self) -> dtype:
        """The dtype of the real part."""
        return _REAL_OF.get(self, self)

    def to_complex(self) -> dtype:
        """The complex dtype whose parts have this one."""
        found = complex_of(self)
        if not found.is_complex:
            raise RuntimeError(f"Unknown Complex ScalarType for {self.scalar_name}")
        return found

    def __repr__(self) -> str:
        # PyTorch's spelling: programs compare and print it, and `import clew as torch` is the norm.
        return f"torch.{self.name}"

    def __reduce__(self) -> Any:
        return _of_name, (self.name,)

    def __deepcopy__(self, memo: object) -> dtype:
        return self

    def __copy__(self) -> dtype:
        return self


class _Nameable(dtype):
    """A dtype that there are no tensors of: NumPy has no arrays of its elements."""

    __slots__ = ()

    def __init__(self, name: str, itemsize: int, category: int, order: int) -> None:
        self.name, self.scalar_name = name, _SCALAR_NAMES[name]
        self.category, self.order, self.itemsize = category, order, itemsize
        self.is_signed = not name.startswith("quint")

    @property
    def np(self) -> Any:
        raise NotImplementedError(
            f"there are no tensors of torch.{self.name} in clew, because NumPy has no such numbers."
        )


def _of_name(name: str) -> dtype:
    """A dtype from a pickle."""
    found: dtype = globals()["bool_" if name == "bool" else name]
    return found


bool_ = dtype("bool", np.bool_, BOOL, 0)
uint8 = dtype("uint8", np.uint8, INTEGER, 1)
int8 = dtype("int8", np.int8, INTEGER, 2)
int16 = dtype("int16", np.int16, INTEGER, 3)
int32 = dtype("int32", np.int32, INTEGER, 4)
int64 = dtype("int64", np.int64, INTEGER, 5)
uint16 = dtype("uint16", np.uint16, INTEGER, 6)
uint32 = dtype("uint32", np.uint32, INTEGER, 7)
uint64 = dtype("uint64", np.uint64, INTEGER, 8)
float16 = dtype("float16", np.float16, FLOAT, 9)
bfloat16 = dtype("bfloat16", ml_dtypes.bfloat16, FLOAT, 10)
float32 = dtype("float32", np.float32, FLOAT, 11)
float64 = dtype("float64", np.float64, FLOAT, 12)
complex32 = dtype("complex32", ml_dtypes.complex32, COMPLEX, 12)
complex64 = dtype("complex64", np.complex64, COMPLEX, 13)
complex128 = dtype("complex128", np.complex128, COMPLEX, 14)

# The elements of quantized tensors, which clew does not have.
QUANTIZED = tuple(
    _Nameable(name, itemsize, INTEGER, 0)
    for name, itemsize in (
        ("qint8", 1), ("quint8", 1), ("qint32", 4), ("quint4x2", 1), ("quint2x4", 1),
    )
)  # fmt: skip
qint8, quint8, qint32, quint4x2, quint2x4 = QUANTIZED

# Numbers of eight bits, for storing: they are computed in float32.
FLOAT8 = tuple(
    dtype(name, getattr(ml_dtypes, name), FLOAT, 0)
    for name in (
        "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu",
    )
)  # fmt: skip
float8_e4m3fn, float8_e5m2, float8_e4m3fnuz, float8_e5m2fnuz, float8_e8m0fnu = FLOAT8
ALL_DTYPES = (
    bool_, uint8, int8, int16, int32, int64, uint16, uint32, uint64,
    float16, bfloat16, float32, float64, complex64, complex128,
)  # fmt: skip
# PyTorch's other names for them.
ALIASES = {
    "short": int16, "int": int32, "long": int64, "half": float16, "float": float32,
    "double": float64, "cfloat": complex64, "cdouble": complex128, "chalf": complex32,
}  # fmt: skip
BY_NUMPY: dict[np.dtype, dtype] = {d.np: d for d in (*ALL_DTYPES, complex32, *FLOAT8)}

_WIDE_UNSIGNED = frozenset({uint16, uint32, uint64})
_REAL_OF = {complex32: float16, complex64: float32, complex128: float64}
_COMPLEX_OF = {float16: complex32, bfloat16: complex64, float32: complex64, float64: complex128}

# Low-precision types are computed in float32 and rounded once at the end.
HALVES = frozenset({float16.np, bfloat16.np})
LOW_PRECISION = HALVES | {d.np for d in FLOAT8}

COMPUTED_IN = {d: float32 for d in (float16, bfloat16, *FLOAT8)} | {complex32: complex64}
COMPUTED_IN_NUMPY = {low.np: wide.np for low, wide in COMPUTED_IN.items()}

_default_dtype = float32


def get_default_dtype() -> dtype:
    """The dtype of floating-point tensors made from Python numbers.

    Example:
        >>> clew.get_default_dtype()
        torch.float32
    """
    return _default_dtype


def set_default_dtype(d: dtype) -> None:
    """Set the dtype of floating-point tensors made from Python numbers: float32 until then.

    Args:
        d: a floating-point dtype

    Example:
        >>> clew.set_default_dtype(clew.float64)
        >>> clew.tensor(0.5).dtype
        torch.float64
        >>> clew.set_default_dtype(clew.float32)
    """
    global _default_dtype
    if not isinstance(d, dtype):
        raise TypeError(f"invalid dtype object: {d!r}")
    if d.category != FLOAT:
        raise TypeError(f"only floating-point types are supported as the default type, got {d!r}")
    if d in FLOAT8:
        raise TypeError(f"couldn't find storage object {d.scalar_name}Storage")
    _default_dtype = d


def complex_of(d: dtype) -> dtype:
    """The complex dtype to compute in beside numbers of a dtype: itself, if there is none."""
    return _COMPLEX_OF.get(d, d)


def default_complex() -> dtype:
    return complex_of(_default_dtype)


def of_array(array: np.ndarray) -> dtype:
    """The clew dtype that an ndarray's elements have."""
    found = BY_NUMPY.get(array.dtype)
    if found is None:
        native = array.dtype.newbyteorder("=")
        found = BY_NUMPY.get(native)
    if found is None:
        raise TypeError(
            f"can't convert np.ndarray of type numpy.{array.dtype.type.__name__}. "
            "The only supported types are: " + ", ".join(d.name for d in ALL_DTYPES) + "."
        )
    return found


def promote_types(a: dtype, b: dtype) -> dtype:
    """The smallest dtype that both convert to, by PyTorch's table.

    Args:
        a: a dtype
        b: a second dtype

    Example:
        >>> clew.promote_types(clew.int64, clew.float16), clew.promote_types(clew.uint8, clew.int8)
        (torch.float16, torch.int16)
    """
    if type(a) is not dtype or type(b) is not dtype:
        return promote_types(of_python(a), of_python(b))
    if a is b:
        return a
    if a in FLOAT8 or b in FLOAT8:
        raise RuntimeError(
            "Promotion for Float8 Types is not supported, attempted to promote "
            f"{a.scalar_name} and {b.scalar_name}"
        )
    if (a in _WIDE_UNSIGNED or b in _WIDE_UNSIGNED) and FLOAT not in (a.category, b.category):
        raise RuntimeError(
            f"Promotion for uint16, uint32, uint64 types is not supported, attempted to promote "
            f"{a.scalar_name} and {b.scalar_name}"
        )
    if a.category != b.category:
        low, high = (a, b) if a.category < b.category else (b, a)
        if high.category == COMPLEX and low is float64:
            return complex128
        if high is complex32 and low in (float32, bfloat16):
            return complex64
        return high
    return _promote_same_category(a, b)


def _promote_same_category(a: dtype, b: dtype) -> dtype:
    if a.category == FLOAT:
        if {a, b} == {float16, bfloat16}:
            return float32
        return a if a.order > b.order else b
    if a.category == COMPLEX:
        return a if a.order > b.order else b
    if {a, b} == {uint8, int8}:
        return int16
    return a if a.order > b.order else b


def scalar_dtype(value: bool | int | float | complex) -> dtype:
    """The dtype that a Python number has when it stands alone."""
    if isinstance(value, bool):
        return bool_
    if isinstance(value, (int, np.integer)):
        return int64
    # PyTorch reads a float from what has one and is no number of Python's: NumPy's bools, too.
    if isinstance(value, (float, np.floating, np.bool_)):
        return _default_dtype
    if isinstance(value, (complex, np.complexfloating)):
        return default_complex()
    raise TypeError(f"argument must be a number or a Tensor, not {type(value).__name__}")


class Promotion:
    """Collects operands by how much they count: with dimensions, 0-dim, Python number."""

    __slots__ = ("dimensioned", "number", "zero_dim")

    def __init__(self) -> None:
        self.dimensioned: dtype | None = None
        self.zero_dim: dtype | None = None
        self.number: dtype | None = None

    def add_array(self, array: np.ndarray) -> None:
        d = BY_NUMPY[array.dtype]
        if array.ndim:
            self.dimensioned = d if self.dimensioned is None else promote_types(self.dimensioned, d)
        else:
            self.zero_dim = d if self.zero_dim is None else promote_types(self.zero_dim, d)

    def add_number(self, value: bool | int | float | complex) -> None:
        d = scalar_dtype(value)
        self.number = d if self.number is None else promote_types(self.number, d)

    def result(self) -> dtype:
        result: dtype | None = None
        for candidate in (self.dimensioned, self.zero_dim, self.number):
            if candidate is None:
                continue
            if result is None:
                result = candidate
            elif candidate.category > result.category:
                # Beside floats, a complex value that counts less takes their precision.
                result = complex_of(result) if result.category == FLOAT else candidate
        if result is None:
            raise ValueError("nothing to promote")
        return result


def can_cast(from_: dtype, to: dtype) -> bool:
    """Whether an in-place or `out=` result of type `from_` may be stored as `to`."""
    return of_python(from_).category <= of_python(to).category


# What Python's own types stand for.
PYTHON_TYPES: dict[Any, dtype] = {
    float: float64, int: int64, bool: bool_, complex: complex128,
}  # fmt: skip


def of_python(kind: Any) -> dtype:
    """The dtype itself, or the one that a Python type stands for."""
    if type(kind) is dtype:
        return kind
    found = PYTHON_TYPES.get(kind) if isinstance(kind, type) else None
    if found is None:
        raise TypeError(f"argument 'dtype' must be torch.dtype, not {type(kind).__name__}")
    return found


class finfo:
    """The limits of a floating-point dtype: `eps`, `max`, `min`, `tiny`, `resolution`, `bits`.

    Args:
        type: the dtype; None is the default dtype. Complex ones stand for their real one

    Example:
        >>> clew.finfo(clew.float32).max, clew.finfo(clew.float16).eps
        (3.4028234663852886e+38, 0.0009765625)
    """

    def __init__(self, type: Any = None) -> None:
        self._dtype = get_default_dtype() if type is None else PYTHON_TYPES.get(type, type)
        if self._dtype.category < FLOAT:
            raise TypeError(
                f"torch.finfo() requires a floating point input type. Use torch.iinfo to handle "
                f"'{self._dtype.name}'"
            )
        real = self._dtype.to_real()
        of_ml = real is bfloat16 or real in FLOAT8
        info: Any = ml_dtypes.finfo(real.np) if of_ml else np.finfo(real.np)
        self.bits = real.itemsize * 8
        self.eps = float(info.eps)
        self.max = float(info.max)
        self.min = float(info.min)
        self.tiny = self.smallest_normal = float(info.smallest_normal)
        self.resolution = 1.0 if real in FLOAT8 else 10.0 ** -int(info.precision)
        self.dtype = real.name

    __hash__ = None  # type: ignore[assignment]  # as PyTorch's, they are compared only

    def __eq__(self, other: object) -> bool:
        return isinstance(other, finfo) and self._dtype is other._dtype

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, "
            f"eps={self.eps:g}, smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, "
            f"dtype={self.dtype})"
        )


class iinfo:
    """The limits of an integer dtype: `max`, `min`, `bits`.

    Args:
        type: the dtype

    Example:
        >>> clew.iinfo(clew.int8).min, clew.iinfo(clew.int8).max
        (-128, 127)
    """

    def __init__(self, type: Any) -> None:
        wanted = PYTHON_TYPES.get(type, type)
        if wanted.category > INTEGER:
            raise TypeError(
                f"torch.iinfo() requires an integer input type. Use torch.finfo to handle "
                f"'{wanted.name}'"
            )
        if wanted.category == BOOL:
            raise TypeError("torch.bool is not supported by torch.iinfo")
        info = np.iinfo(wanted.np)
        self.bits = info.bits
        self.max = int(info.max)
        self.min = int(info.min)
        self.dtype = wanted.name

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"


# Python numbers as arrays without dimensions: NumPy takes a third of a microsecond to make one.
_SCALARS: dict[np.dtype, dict[float, np.ndarray]] = {
    np.dtype(np.float32): {},
    np.dtype(np.float64): {},
}


def as_scalar(value: float, dtype: np.dtype) -> Any:
    """A Python float as an array of that dtype where this is the same, from a small cache."""
    known = _SCALARS.get(dtype)
    if known is None:
        return value
    scalar = known.get(value)
    if scalar is None:
        if not value or value != value:
            return value  # 0.0 and -0.0 are one key, and a NaN is never found again
        if len(known) > 256:
            known.clear()
        scalar = known[value] = np.array(value, dtype)
    return scalar
