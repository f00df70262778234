"""Text of tensors: PyTorch's `repr`, character for character, over a NumPy array and its metadata.

Printing goes in three steps. The array is first cut down to its edges when it is large; the kept
elements become padded text cells, whose common width and notation follow from the values
themselves; the cells are then laid out in nested brackets, and suffixes (dtype, grad_fn, ...)
added.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from clew.interrupts import uninterrupted
from clew.kernels.numpy.arrays import imaginary_part, real_part

# A column of floats spanning more than this ratio, or outside these bounds, reads better in
# scientific notation.
_SCIENTIFIC_RATIO = 1e3
_SCIENTIFIC_ABOVE = 1e8
_SCIENTIFIC_BELOW = 1e-4


class _PrintOptions(NamedTuple):
    """The settings that `set_printoptions` changes, with PyTorch's defaults."""

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: float = 80
    sci_mode: bool | None = None


_PROFILES = {
    "default": _PrintOptions(),
    "short": _PrintOptions(precision=2, edgeitems=2),
    "full": _PrintOptions(threshold=math.inf),
}

_current = _PROFILES["default"]


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: float | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Change how tensors print.

    Args:
        precision: digits after the point; 4 at first
        threshold: tensors of more elements than this are abridged; 1000 at first
        edgeitems: how many elements an abridged dimension keeps at each end; 3 at first
        linewidth: characters in a line; 80 at first
        profile: "default", "short" or "full" resets everything before the other arguments apply;
            other names are ignored
        sci_mode: whether to use scientific notation; None, also when not given, leaves it to the
            values

    Example:
        >>> clew.set_printoptions(precision=2)
        >>> clew.tensor([1 / 3])
        tensor([0.33])
        >>> clew.set_printoptions(profile="default")
    """
    global _current
    if edgeitems is not None and edgeitems < 0:
        raise ValueError(f"edgeitems must not be negative, got {edgeitems}")
    base = _current if profile is None else _PROFILES.get(profile, _current)
    given = {
        "precision": precision,
        "threshold": threshold,
        "edgeitems": edgeitems,
        "linewidth": linewidth,
    }
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    _current = base._replace(sci_mode=sci_mode, **changes)


def get_printoptions() -> dict[str, Any]:
    """Return the current settings as a dictionary."""
    return _current._asdict()


class printoptions:
    """Apply `set_printoptions(**options)` inside a `with` block."""

    def __init__(self, **options: Any) -> None:
        self.options = options

    def __enter__(self) -> None:
        global _current
        self._before = before = _current
        try:
            set_printoptions(**self.options)
        except BaseException:  # an interrupt too leaves the options as they were
            _current = before
            raise

    @uninterrupted
    def __exit__(self, *exc: object) -> None:
        global _current
        _current = self._before


def format_tensor(
    array: npt.NDArray[Any],
    *,
    dtype_name: str,
    default_float_name: str = "float32",
    requires_grad: bool = False,
    grad_fn_name: str | None = None,
    tangent: str | None = None,
    prefix: str = "tensor(",
    indent: int | None = None,
    device: str | None = None,
    with_dtype: bool = True,
) -> str:
    """Return the text of a tensor with the values of `array`.

    `prefix` opens the text (a subclass passes its own name); `indent` is the column at which
    continuation lines start, the length of the prefix by default. `tangent` is the text of the
    forward-mode tangent. With a `device` named, the elements are not shown; `with_dtype=False`
    leaves out the dtype.
    """
    options = _current
    indent = len(prefix) if indent is None else indent
    summarize = array.ndim > 0 and array.size > options.threshold
    suffixes = []
    if device is not None:
        body = "..."
        suffixes = [f"device='{device}'", f"size={array.shape}"]
        if dtype_name != default_float_name:
            suffixes.append(f"dtype=torch.{dtype_name}")
    elif array.size == 0:
        body = "[]"
        if array.ndim != 1:
            suffixes.append(f"size={array.shape}")
        if dtype_name != default_float_name:
            suffixes.append(f"dtype=torch.{dtype_name}")
    else:
        if options.edgeitems == 0:
            suffixes.append(f"size={array.shape}")
        if options.edgeitems == 0 and summarize:
            body = "[...]"
        else:
            body = _body(array, dtype_name, summarize, indent, options)
        if with_dtype and dtype_name not in implied_dtypes(default_float_name):
            suffixes.append(f"dtype=torch.{dtype_name}")
    if grad_fn_name is not None:
        suffixes.append(f"grad_fn=<{grad_fn_name}>")
    elif requires_grad:
        suffixes.append("requires_grad=True")
    if tangent is not None:
        suffixes.append(f"tangent={tangent}")
    return with_suffixes(prefix + body, suffixes, indent)


def format_parameter(
    array: npt.NDArray[Any],
    *,
    dtype_name: str,
    default_float_name: str = "float32",
    requires_grad: bool = True,
    subclass_name: str | None = None,
) -> str:
    """Return the text of an `nn.Parameter`, or of the subclass of it that is named."""
    text = format_tensor(
        array,
        dtype_name=dtype_name,
        default_float_name=default_float_name,
        requires_grad=requires_grad,
        prefix=f"{subclass_name or 'tensor'}(",
    )
    return "Parameter containing:\n" + (f"Parameter({text})" if subclass_name else text)


def implied_dtypes(default_float_name: str) -> tuple[str, ...]:
    """Names of the dtypes that a non-empty tensor prints without saying so."""
    default_complex = "complex128" if default_float_name == "float64" else "complex64"
    return ("bool", "int64", default_float_name, default_complex)


def with_suffixes(
    text: str, suffixes: Sequence[str], indent: int, breaks_first: bool = False
) -> str:
    """Append the suffixes and the closing bracket, breaking the line where one would not fit.

    `breaks_first` breaks it before the first of them in any case.
    """
    linewidth = _current.linewidth
    # Two columns more than the last line holds: PyTorch counts the line break and the bracket.
    column = len(text) - text.rfind("\n") + 1
    parts = [text]
    for suffix in suffixes:
        if column + len(suffix) + 2 > linewidth or breaks_first:
            breaks_first = False
            parts.append(",\n" + " " * indent + suffix)
            column = indent + len(suffix)
        else:
            parts.append(", " + suffix)
            column += len(suffix) + 2
    return "".join(parts) + ")"


class _Extent(NamedTuple):
    """One dimension as printed: how many entries are kept, and where the ellipsis goes."""

    kept: int
    gap: int | None


def _body(
    array: npt.NDArray[Any], dtype_name: str, summarize: bool, indent: int, options: _PrintOptions
) -> str:
    """Return the nested brackets of a non-empty array."""
    extents = [_Extent(size, None) for size in array.shape]
    if summarize:
        array, extents = _edges(array, options.edgeitems)
    cells, width = _cells(array.reshape(-1), dtype_name, options)
    return _nest(cells, extents, indent, width, options.linewidth)


def _edges(array: npt.NDArray[Any], edgeitems: int) -> tuple[npt.NDArray[Any], list[_Extent]]:
    """Keep the first and last `edgeitems` entries of every dimension longer than both."""
    chosen = []
    extents = []
    for size in array.shape:
        if size > 2 * edgeitems:
            chosen.append([*range(edgeitems), *range(size - edgeitems, size)])
            extents.append(_Extent(2 * edgeitems, edgeitems))
        else:
            chosen.append([*range(size)])
            extents.append(_Extent(size, None))
    return array[np.ix_(*chosen)], extents


def _nest(
    cells: list[str], extents: Sequence[_Extent], indent: int, width: int, linewidth: float
) -> str:
    """Lay the cells of one sub-array out in brackets opened at column `indent`."""
    if not extents:
        return cells[0]
    kept, gap = extents[0]
    margin = " " * (indent + 1)
    if len(extents) == 1:
        if gap is not None:
            cells = [*cells[:gap], " ...", *cells[gap:]]
        per_line = max(1, math.floor((linewidth - indent) / (width + len(", "))))
        lines = [", ".join(cells[i : i + per_line]) for i in range(0, len(cells), per_line)]
        return "[" + (",\n" + margin).join(lines) + "]"
    stride = len(cells) // kept
    blocks = [
        _nest(cells[i : i + stride], extents[1:], indent + 1, width, linewidth)
        for i in range(0, len(cells), stride)
    ]
    if gap is not None:
        blocks.insert(gap, "...")
    separator = "," + "\n" * (len(extents) - 1) + margin
    return "[" + separator.join(blocks) + "]"


def _cells(
    values: npt.NDArray[Any], dtype_name: str, options: _PrintOptions
) -> tuple[list[str], int]:
    """Return the text of each element, and the width by which elements per line are counted."""
    if dtype_name.startswith("complex"):
        real_cells, real_width = _float_cells(real_part(values), options)
        imag_cells, imag_width = _float_cells(imaginary_part(values), options)
        cells = [_complex_cell(*pair) for pair in zip(real_cells, imag_cells, strict=True)]
        return cells, real_width + imag_width + 1
    if dtype_name.startswith(("float", "bfloat")):
        return _float_cells(values, options)
    texts = [str(value) for value in values.tolist()]
    width = max(map(len, texts))
    return [text.rjust(width) for text in texts], width


def _complex_cell(real: str, imag: str) -> str:
    imag = imag.lstrip()
    sign = "" if imag.startswith("-") else "+"
    return f"{real}{sign}{imag}j"


def _float_cells(values: npt.NDArray[Any], options: _PrintOptions) -> tuple[list[str], int]:
    """Choose one notation for all of `values` and write them in it.

    Only the finite nonzero values decide the notation and the width: zeros, infinities and nans
    may stick out of their column.
    """
    # Uninitialised memory may hold signalling nans, which warn when cast.
    with np.errstate(invalid="ignore"):
        values = values.astype(np.float64)
    deciding = values[np.isfinite(values) & (values != 0)]
    integral = bool((deciding == np.ceil(deciding)).all())
    scientific = _is_scientific(deciding, options.sci_mode)
    texts = _write(deciding, integral, scientific, options.precision)
    width = max(map(len, texts), default=1)
    texts = _write(values, integral, scientific, options.precision)
    return [text.rjust(width) for text in texts], width


def _is_scientific(deciding: npt.NDArray[np.float64], sci_mode: bool | None) -> bool:
    """Whether to use scientific notation; without a deciding value not even `sci_mode` asks it."""
    if deciding.size == 0:
        return False
    if sci_mode is not None:
        return sci_mode
    magnitudes = np.abs(deciding)
    smallest, largest = float(magnitudes.min()), float(magnitudes.max())
    return (
        largest / smallest > _SCIENTIFIC_RATIO
        or largest > _SCIENTIFIC_ABOVE
        or smallest < _SCIENTIFIC_BELOW
    )


def _write(
    values: npt.NDArray[np.float64], integral: bool, scientific: bool, precision: int
) -> list[str]:
    """Write floats in scientific, integral ("1.") or fixed notation."""
    if scientific:
        return [f"{value:.{precision}e}" for value in values.tolist()]
    if integral:
        return [
            f"{value:.0f}." if math.isfinite(value) else f"{value:.0f}" for value in values.tolist()
        ]
    return [f"{value:.{precision}f}" for value in values.tolist()]
