"""How a tensor lies over processes: in parts, whole in each, or as terms of a sum."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Partial", "Placement", "Replicate", "Shard", "_StridedShard"]


class Placement:
    """How a tensor lies over processes."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether each process has a part (along a dimension)."""
        return isinstance(self, Shard) and dim in (None, self.dim)

    def is_replicate(self) -> bool:
        """Whether each process has the whole tensor."""
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Whether each process has a term of a sum."""
        return isinstance(self, Partial) and reduce_op in (None, self.reduce_op)


@dataclass(frozen=True)
class Shard(Placement):
    """Each process has a part along a dimension."""

    dim: int


@dataclass(frozen=True)
class _StridedShard(Shard):
    """Parts of parts, where two dimensions of a mesh cut the same dimension: for `isinstance`."""

    split_factor: int = 1


@dataclass(frozen=True)
class Replicate(Placement):
    """Each process has the whole tensor."""


@dataclass(frozen=True)
class Partial(Placement):
    """Each process has a term of a sum."""

    reduce_op: str = "sum"
