"""How the values of a nested tensor are cut into components, in the jagged and strided layout."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Sequence

import numpy as np

from clew.core.size import Size, SymInt
from clew.core.tensor import Tensor

# -- ragged lengths --------------------------------------------------------------------------------


class RaggedLengths:
    """The ragged length of each tensor of offsets or lengths, by its identity, while it lives."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._known: dict[int, tuple[weakref.ref[Tensor], SymInt]] = {}

    def get(self, source: Tensor, default: SymInt | None = None) -> SymInt | None:
        """The length of nested tensors that are cut by this tensor, if there are any."""
        found = self._known.get(id(source))
        return found[1] if found is not None and found[0]() is source else default

    def __getitem__(self, source: Tensor) -> SymInt:
        found = self.get(source)
        if found is None:
            raise KeyError(source)
        return found

    def __setitem__(self, source: Tensor, length: SymInt) -> None:
        key, known = id(source), self._known
        known[key] = weakref.ref(source, lambda _: known.pop(key, None)), length

    def of(self, source: Tensor) -> SymInt:
        """The same; a new one, if there are none."""
        found = self.get(source)
        if found is None:
            found = self[source] = SymInt(next(self._numbers))
        return found


RAGGED_LENGTHS = RaggedLengths()


# -- how values are cut ----------------------------------------------------------------------------


class Jagged:
    """Cuts along one dimension: where each component begins, and how long it is.

    `ragged` is that dimension of the nested tensor; of the values it is the one before. With
    `lengths` there may be gaps. `known` has the least and the greatest length, once computed.
    """

    __slots__ = ("known", "length", "lengths", "offsets", "ragged")

    def __init__(
        self,
        offsets: Tensor,
        lengths: Tensor | None = None,
        ragged: int = 1,
        known: dict[str, int] | None = None,
    ) -> None:
        self.offsets = offsets
        self.lengths = lengths
        self.ragged = ragged
        self.known: dict[str, int] = {} if known is None else known
        # The length of the ragged dimension.
        self.length = RAGGED_LENGTHS.of(offsets if lengths is None else lengths)

    @property
    def count(self) -> int:
        """How many components there are."""
        return len(self.offsets._array) - 1

    @property
    def starts(self) -> np.ndarray:
        """Where each component begins."""
        return self.offsets._array[:-1]

    @property
    def sizes(self) -> np.ndarray:
        """How long each component is."""
        found: np.ndarray = (
            np.diff(self.offsets._array) if self.lengths is None else self.lengths._array
        )
        return found

    @property
    def greatest(self) -> int:
        """The greatest length of a component."""
        known = self.known.get("max_seqlen")
        return int(self.sizes.max(initial=0)) if known is None else known

    def extreme(self, name: str) -> int:
        """`min_seqlen` or `max_seqlen`, kept from then on."""
        if name not in self.known:
            sizes = self.sizes
            self.known[name] = int(sizes.min() if name == "min_seqlen" else sizes.max())
        return self.known[name]

    def at(self, ragged: int) -> Jagged:
        """The same cuts along another dimension."""
        return self if ragged == self.ragged else Jagged(
            self.offsets, self.lengths, ragged, self.known
        )  # fmt: skip

    def shape(self, values: Tensor) -> Size:
        """The shape of the nested tensor, with its ragged length."""
        inner = values._layout.shape
        place = self.ragged - 1
        return Size((self.count, *inner[:place], self.length, *inner[place + 1 :]))

    def stand_in(self, values: Tensor) -> tuple[int, ...]:
        """A shape of numbers, by which autograd tells gradients that fit."""
        return self.count, *values._layout.shape


class Pieces:
    """Cuts of flat values into pieces of any shape."""

    __slots__ = ("is_contiguous", "shapes")

    def __init__(self, shapes: Sequence[Sequence[int]], is_contiguous: bool = True) -> None:
        self.shapes = [tuple(shape) for shape in shapes]
        # Whether PyTorch's has no gaps: there results of `transpose` and `select` are views.
        self.is_contiguous = is_contiguous

    @property
    def count(self) -> int:
        """How many components there are."""
        return len(self.shapes)

    @property
    def sizes(self) -> list[int]:
        """How many elements each component has."""
        return [int(np.prod(shape, dtype=np.int64)) for shape in self.shapes]

    def stand_in(self, values: Tensor) -> tuple[int, ...]:
        """A shape of numbers: the greatest of each dimension."""
        return self.count, *(max(sizes) for sizes in zip(*self.shapes, strict=True))

    def size_of(self, dim: int) -> int | None:
        """The size of a dimension of the components; None where they differ."""
        sizes = {shape[dim] for shape in self.shapes}
        return sizes.pop() if len(sizes) == 1 else None
