"""What is held for backward: `memory_summary(loss)` says how many bytes, by whom, on which line."""

import contextlib
import gc
import re
import tracemalloc
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from clew import errors
from clew.autograd.context import FunctionCtx, SavedIntermediate
from clew.core.engine import reachable
from clew.core.node import AccumulateGrad, Node, edge_of
from clew.core.recording import OpNode
from clew.core.saving import Packed, SavedDual, SavedObject
from clew.core.tensor import Tensor, sync
from clew.kernels.numpy.strides import owner_of
from clew.source import Where


class MemoryRow(NamedTuple):
    """Memory that one operation on one line keeps for backward."""

    bytes: int
    tensors: int
    op: str
    line: str
    module: str
    largest: str


class MemorySummary:
    """What nodes hold, largest first. Memory that several nodes hold counts once, for the first."""

    def __init__(self, rows: list[MemoryRow], parameters: int, inputs: int) -> None:
        self.rows = rows
        # Bytes that are held only because of backward, and what of it was not computed from a
        # leaf: batches of data, which the program may hold as well, and masks.
        self.total = sum(row.bytes for row in rows)
        self.inputs = inputs
        # Bytes of the leaves themselves, which are there with or without backward.
        self.parameters = parameters

    def __str__(self) -> str:
        if not self.rows:
            return "Nothing is held for backward." + self._about_parameters()
        cells = [("Memory", "Share", "Tensors", "Operation", "Line", "Module", "Largest")]
        for row in self.rows:
            share = f"{100 * row.bytes / self.total:.1f}%" if self.total else "-"
            cells.append(
                (size_text(row.bytes), share, str(row.tensors), row.op, row.line, row.module or "-",
                 row.largest)
            )  # fmt: skip
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = [_line(each, widths) for each in cells]
        lines.insert(1, "-" * max(map(len, lines)))
        count = sum(row.tensors for row in self.rows)
        lines.append(
            f"Held for backward: {size_text(self.total)} in {count} tensors, of which "
            f"{size_text(self.inputs)} were not computed from a leaf." + self._about_parameters()
        )
        return "\n".join(lines)

    __repr__ = __str__

    def _about_parameters(self) -> str:
        if not self.parameters:
            return ""
        return f" Leaves that backward needs as well: {size_text(self.parameters)}."


def _line(cells: Iterable[str], widths: list[int]) -> str:
    """Numbers to the right, words to the left."""
    aligned = [
        cell.rjust(width) if index < 3 else cell.ljust(width)
        for index, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return "  ".join(aligned).rstrip()


def size_text(count: int) -> str:
    """`1.5 MiB`."""
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} B"


@contextlib.contextmanager
def counted_memory() -> Iterator[None]:
    """Have Python count the memory of arrays, if it does not do so already."""
    if tracemalloc.is_tracing():
        yield
        return
    tracemalloc.start()
    try:
        yield
    finally:
        tracemalloc.stop()


class MemoryBudgetError(RuntimeError):
    """Something does not fit into the memory that it is given."""


_UNITS = {
    "": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
    "KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30, "TIB": 1 << 40,
}  # fmt: skip
_SIZE = re.compile(r"\s*([0-9]*\.?[0-9]+)\s*([A-Za-z]*)\s*")
# More than any memory.
NO_LIMIT = 1 << 62


def parsed_size(size: int | float | str) -> int:
    """Bytes of a size: a number of them, or a text such as `"2 GiB"`; infinity is `NO_LIMIT`."""
    if isinstance(size, str):
        match = _SIZE.fullmatch(size)
        if match is None or match[2].upper() not in _UNITS:
            raise ValueError(
                f"{size!r} is no size of memory: expected bytes, or a number with a unit, such as "
                "'300 MiB' or '2 GB'"
            )
        size = float(match[1]) * _UNITS[match[2].upper()]
    if isinstance(size, bool) or not isinstance(size, int | float):
        raise TypeError(f"a size of memory must be a number or a text, not {type(size).__name__}")
    if not size > 0:
        raise ValueError(f"a size of memory must be positive, not {size}")
    return NO_LIMIT if size >= NO_LIMIT else int(size)


def memory_summary(*roots: Tensor | Node) -> MemorySummary:
    """What the graphs behind some tensors hold for backward; without any, what all graphs hold."""
    nodes = _nodes_of(roots) if roots else _all_nodes()
    leaves = {
        id(owner): owner.nbytes
        for node in nodes
        if isinstance(node, AccumulateGrad)
        for owner in [owner_of(node._array)]
    }
    counted: set[int] = set()
    groups: dict[tuple[str, str, str], list[np.ndarray]] = {}
    parameters = inputs = 0
    for node in sorted(nodes, key=lambda each: each._seq):
        for array, is_computed in _held(node):
            owner = owner_of(array)
            if id(owner) in counted:
                continue
            counted.add(id(owner))
            if id(owner) in leaves:
                parameters += owner.nbytes
                continue
            inputs += 0 if is_computed else owner.nbytes
            groups.setdefault(_place(node), []).append(array)
    rows = [
        MemoryRow(sum(owner_of(a).nbytes for a in arrays), len(arrays), *place, _largest(arrays))
        for place, arrays in groups.items()
    ]
    rows.sort(key=lambda row: -row.bytes)
    return MemorySummary(rows, parameters, inputs)


def _largest(arrays: list[np.ndarray]) -> str:
    array = max(arrays, key=lambda each: owner_of(each).nbytes)
    return f"{array.dtype} {errors.shape_list(array.shape)}"


def _place(node: Node) -> tuple[str, str, str]:
    name = node._name().removesuffix("0").removesuffix("Backward")
    where = node._where
    return name, "-" if where is None else Where(*where).short, node.module_path or ""


# -- nodes ---------------------------------------------------------------------------------------


def _nodes_of(roots: tuple[Tensor | Node, ...]) -> list[Node]:
    starts = []
    for root in roots:
        if isinstance(root, Node):
            starts.append(root)
            continue
        if not isinstance(root, Tensor):
            raise TypeError(
                "memory_summary(): expected tensors (or their grad_fn), such as the loss, not "
                f"{type(root).__name__}"
            )
        sync(root)
        if not root._requires_grad:
            raise RuntimeError(
                "memory_summary(): the tensor does not require grad and does not have a grad_fn, "
                "so nothing is held for it" + errors.at_user_line()
            )
        starts.append(edge_of(root)[0])
    return list(reachable(starts))


def _all_nodes() -> list[Node]:
    # By type: `isinstance` would ask objects that are none of ours for their `__class__`.
    return [each for each in gc.get_objects() if issubclass(type(each), Node)]


# -- what a node holds ---------------------------------------------------------------------------


def _held(node: Node) -> Iterator[tuple[np.ndarray, bool]]:
    """The arrays that a node keeps, and whether they were computed from a leaf."""
    if isinstance(node, OpNode):
        yield from _arrays_in(node.saved)
        yield from _arrays_in(node.constants)
    elif isinstance(node, FunctionCtx):
        # A custom function may keep tensors as attributes of its context, too.
        for value in vars(node).values():
            yield from _arrays_in(value)


def _arrays_in(value: Any) -> Iterator[tuple[np.ndarray, bool]]:
    if isinstance(value, np.ndarray):
        yield value, False
    elif isinstance(value, Tensor):
        yield value._array, value._requires_grad
    elif isinstance(value, SavedDual):
        yield from _arrays_in(value.saved)
        for tangent in value.tangents.values():
            yield tangent._array, True
    elif isinstance(value, SavedIntermediate | SavedObject):
        yield from _arrays_in(value.saved)
    elif isinstance(value, Packed):
        yield from _arrays_in(value.packed)
    elif isinstance(value, (tuple, list)):
        is_saved = len(value) == 4 and isinstance(value[0], np.ndarray)
        if is_saved:
            yield value[0], value[3] is not None
        else:
            for each in value:
                yield from _arrays_in(each)
