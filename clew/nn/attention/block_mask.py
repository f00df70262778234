"""`BlockMask`: which blocks of a matrix of attention scores are computed, as lists of blocks.

Every row of blocks has the columns that are needed first, and their number: those with both kinds
of elements ("partial"), and those without a masked element ("full").
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from clew import errors
from clew.backend import dtypes
from clew.backend.device import device as device_type
from clew.core.public import FUNCTIONS
from clew.core.tensor import Tensor
from clew.func import vmap
from clew.nn.attention.mask_functions import noop_mask
from clew.ops.nn.padding import pad

__all__ = ["BlockMask", "create_block_mask", "create_mask"]

BLOCK_SIZE = 128
MaskMod = Callable[..., Any]
_TENSORS = (
    "kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices", "q_num_blocks",
    "q_indices", "full_q_num_blocks", "full_q_indices",
)  # fmt: skip


class BlockMask:
    """Which blocks of a matrix of attention scores are computed; `create_block_mask` makes one.

    Args:
        seq_lengths: the numbers of queries and of keys
        kv_num_blocks, kv_indices: partial blocks of each row: how many, and their columns
        full_kv_num_blocks, full_kv_indices: the same of full blocks
        q_num_blocks, q_indices, full_q_num_blocks, full_q_indices: the same by columns
        BLOCK_SIZE: the numbers of queries and of keys in a block
        mask_mod: the function that says which elements take part
    """

    def __init__(
        self,
        seq_lengths: tuple[int, int],
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None,
        full_kv_indices: Tensor | None,
        q_num_blocks: Tensor | None,
        q_indices: Tensor | None,
        full_q_num_blocks: Tensor | None,
        full_q_indices: Tensor | None,
        BLOCK_SIZE: tuple[int, int] = (BLOCK_SIZE, BLOCK_SIZE),
        mask_mod: MaskMod = noop_mask,
    ) -> None:
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions" + errors.at_user_line())
        if (full_kv_num_blocks is None) != (full_kv_indices is None):
            raise AssertionError(
                "full_kv_num_blocks and full_kv_indices must be both provided or omitted"
            )
        self.seq_lengths = seq_lengths
        self.kv_num_blocks, self.kv_indices = kv_num_blocks, kv_indices
        self.full_kv_num_blocks, self.full_kv_indices = full_kv_num_blocks, full_kv_indices
        self.q_num_blocks, self.q_indices = q_num_blocks, q_indices
        self.full_q_num_blocks, self.full_q_indices = full_q_num_blocks, full_q_indices
        self.BLOCK_SIZE = BLOCK_SIZE
        self.mask_mod = mask_mod

    @classmethod
    def from_kv_blocks(
        cls,
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None = None,
        full_kv_indices: Tensor | None = None,
        BLOCK_SIZE: int | tuple[int, int] = BLOCK_SIZE,
        mask_mod: MaskMod | None = None,
        seq_lengths: tuple[int, int] | None = None,
        compute_q_blocks: bool = True,
    ) -> BlockMask:
        """The mask of lists of blocks by rows; those by columns follow from them."""
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions" + errors.at_user_line())
        size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
        if seq_lengths is None:
            rows, columns = kv_indices.shape[-2:]
            seq_lengths = (rows * size[0], columns * size[1])
        by_columns: list[Any] = [None] * 4
        if compute_q_blocks:
            by_columns[:2] = _ordered(_dense(kv_num_blocks, kv_indices).transpose(-2, -1))
            if full_kv_num_blocks is not None and full_kv_indices is not None:
                full = _dense(full_kv_num_blocks, full_kv_indices)
                by_columns[2:] = _ordered(full.transpose(-2, -1))
        return cls(
            seq_lengths,
            kv_num_blocks,
            kv_indices,
            full_kv_num_blocks,
            full_kv_indices,
            by_columns[0],
            by_columns[1],
            by_columns[2],
            by_columns[3],
            size,
            mask_mod or noop_mask,
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the matrix of scores, with its batch dimensions."""
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def as_tuple(self, flatten: bool = True) -> tuple[Any, ...]:
        """All parts, in order."""
        lengths = self.seq_lengths if flatten else (self.seq_lengths,)
        size = self.BLOCK_SIZE if flatten else (self.BLOCK_SIZE,)
        return (*lengths, *(getattr(self, name) for name in _TENSORS), *size, self.mask_mod)

    def numel(self) -> int:
        """The number of scores."""
        total = 1
        for size in self.shape:
            total *= size
        return total

    def sparsity(self) -> float:
        """The share of the scores in blocks that are not computed, in percent."""
        blocks = self.to_dense()
        computed = int(blocks.sum()) * self.BLOCK_SIZE[0] * self.BLOCK_SIZE[1]
        return 100 * (1 - computed / self.numel())

    def to_dense(self) -> Tensor:
        """A matrix with one element for each block: 1 for those that are computed."""
        partial = _dense(self.kv_num_blocks, self.kv_indices)
        if self.full_kv_num_blocks is None or self.full_kv_indices is None:
            return partial
        return partial | _dense(self.full_kv_num_blocks, self.full_kv_indices)

    def to(self, device: Any) -> BlockMask:
        """The mask with its parts on another device."""
        kind = device_type(device)
        parts: list[Any] = [getattr(self, name) for name in _TENSORS]
        moved = [None if part is None else part.to(kind) for part in parts]
        arguments: list[Any] = [self.seq_lengths, *moved, self.BLOCK_SIZE, self.mask_mod]
        return BlockMask(*arguments)

    def __getitem__(self, index: Any) -> BlockMask:
        """The mask of some batch entries, heads or rows of blocks."""
        places = index if isinstance(index, tuple) else (index,)
        kept = tuple(
            slice(each + size, each + size + 1) if isinstance(each, int) and each == -1
            else slice(each, each + 1) if isinstance(each, int) else each
            for each, size in zip(places, self.kv_num_blocks.shape)
        )  # fmt: skip
        full = self.full_kv_num_blocks is not None and self.full_kv_indices is not None
        return BlockMask.from_kv_blocks(
            self.kv_num_blocks[kept],
            self.kv_indices[kept],
            self.full_kv_num_blocks[kept] if full else None,  # type: ignore[index]  # it is there
            self.full_kv_indices[kept] if full else None,  # type: ignore[index]  # so is this
            BLOCK_SIZE=self.BLOCK_SIZE,
            mask_mod=_sliced_mask_mod,
            seq_lengths=self.seq_lengths,
            compute_q_blocks=self.q_indices is not None,
        )

    def _adjust(self, new_q_len: int, new_kv_len: int) -> BlockMask:
        """The mask for fewer queries or keys: whole blocks are left out."""
        rows = -(-new_q_len // self.BLOCK_SIZE[0])
        columns = -(-new_kv_len // self.BLOCK_SIZE[1])
        parts: list[Any] = []
        for counts, indices in (
            (self.kv_num_blocks, self.kv_indices),
            (self.full_kv_num_blocks, self.full_kv_indices),
        ):
            if counts is None or indices is None:
                parts += [None, None]
            else:
                parts += _ordered(_dense(counts, indices)[..., :rows, :columns])
        parts += [self.BLOCK_SIZE, self.mask_mod, (new_q_len, new_kv_len)]
        return BlockMask.from_kv_blocks(*parts)

    def to_string(self, grid_size: int | tuple[int, int] = (20, 20), limit: int = 4) -> str:
        """A drawing: a full block for each one that is computed."""
        dense = self.to_dense()
        batches = dense.reshape(-1, *dense.shape[-2:])
        rows, columns = (grid_size, grid_size) if isinstance(grid_size, int) else grid_size
        drawn: list[str] = []
        for number, block in enumerate(batches):
            place = tuple(int(i) for i in _unravel(number, dense.shape[:-2]))
            if number >= limit:
                drawn.append("...")
                break
            drawn.append(f"{place}\n{_drawing(block, rows, columns)}\n")
        return "\n".join(drawn)

    def __str__(self) -> str:
        drawing = self.to_string().strip()
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%, \n{drawing}\n)"

    def __repr__(self) -> str:
        lines = [f"    {name}={value.shape}," if (value := getattr(self, name)) is not None
                 else f"    {name}=None," for name in _TENSORS]  # fmt: skip
        name = getattr(self.mask_mod, "__name__", self.mask_mod)
        lines += [
            f"    BLOCK_SIZE={self.BLOCK_SIZE},",
            f"    shape={self.shape},",
            f"    sparsity={self.sparsity():.2f}%,",
            f"    mask_mod={name}",
        ]
        return "BlockMask(\n" + "\n".join(lines) + "\n)"


def _sliced_mask_mod(*args: Any) -> Any:
    raise RuntimeError(
        "Cannot use mask_mod from a sliced BlockMask: it does not know where the slice begins. "
        "Give the slice one: block_mask.mask_mod = ..." + errors.at_user_line()
    )


def _unravel(number: int, shape: Any) -> list[int]:
    places: list[int] = []
    for size in reversed(shape):
        number, place = divmod(number, size)
        places.insert(0, place)
    return places


def _drawing(blocks: Tensor, rows: int, columns: int) -> str:
    height, width = (-(-blocks.shape[0] // rows), -(-blocks.shape[1] // columns))
    lines: list[str] = []
    for top in range(0, blocks.shape[0], height):
        line = ""
        for left in range(0, blocks.shape[1], width):
            part = blocks[top : top + height, left : left + width]
            share = float(part.sum()) / part.numel()
            line += "██" if share == 1 else "░░" if share > 0 else "  "
        lines.append(line)
    return "\n".join(lines)


# -- lists of blocks and matrices of blocks --------------------------------------------------------


def _ordered(dense: Tensor) -> tuple[Tensor, Tensor]:
    """The number of ones in each row, and their columns, before those of the zeros."""
    number = dense.sum(-1).to(dtypes.int32)
    columns = FUNCTIONS["argsort"](dense.to(dtypes.int32), dim=-1, descending=True, stable=True)
    return number, columns.to(dtypes.int32)


def _dense(number: Tensor, columns: Tensor) -> Tensor:
    """The matrix of ones whose columns are the first ones of each row's list."""
    width = columns.shape[-1]
    is_given = FUNCTIONS["arange"](width) < number.unsqueeze(-1)
    dense = columns.new_zeros(columns.shape)
    return dense.scatter(-1, columns.to(dtypes.int64), is_given.to(columns.dtype))


# -- masks from functions --------------------------------------------------------------------------


def over_scores(function: Callable[..., Any], has_score: bool) -> Callable[..., Any]:
    """A function of one score and its place, over all scores and places."""
    first = (0,) if has_score else ()
    # From the innermost: keys, queries, heads, batch entries.
    for place in (3, 2, 1, 0):
        batched = tuple(0 if each == place else None for each in range(4))
        function = vmap(function, in_dims=(*first, *batched), out_dims=0)
    return function


def places_of(batch: int, heads: int, queries: int, keys: int) -> tuple[Tensor, ...]:
    """The numbers of batch entries, heads, queries and keys."""
    arange = FUNCTIONS["arange"]
    return arange(batch), arange(heads), arange(queries), arange(keys)


def _positional(function: Callable[..., Any]) -> int:
    """How many arguments a function takes by position."""
    parameters = inspect.signature(function).parameters.values()
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.POSITIONAL_ONLY)
    return sum(each.kind in kinds and each.default is each.empty for each in parameters)


def create_mask(
    mod_fn: Callable[..., Any],
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = None,
) -> Tensor:
    """The mask of a function as a tensor of bools.

    Args:
        mod_fn: `mask_mod(b, h, q, k)`, or `score_mod(score, b, h, q, k)`, where a score of -inf
            does not take part
        B, H: the numbers of batch entries and heads; None is 1
        Q_LEN, KV_LEN: the numbers of queries and keys
        device: the CPU

    Example:
        >>> from clew.nn.attention.flex_attention import create_mask
        >>> create_mask(lambda b, h, q, k: q >= k, None, None, 2, 2)
        tensor([[[[ True, False],
                  [ True,  True]]]])
    """
    taken = _positional(mod_fn)
    if taken not in (4, 5):
        raise AssertionError(f"Expected 4 or 5 positional args, got {taken}")
    batch, heads = B or 1, H or 1
    places = places_of(batch, heads, Q_LEN, KV_LEN)
    if taken == 4:
        return over_scores(mod_fn, False)(*places)
    scores = FUNCTIONS["zeros"]((batch, heads, Q_LEN, KV_LEN))
    return over_scores(mod_fn, True)(scores, *places) != float("-inf")


def create_block_mask(
    mask_mod: MaskMod,
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = None,
    BLOCK_SIZE: int | tuple[int, int] = BLOCK_SIZE,
    _compile: bool = False,
    separate_full_blocks: bool = True,
) -> BlockMask:
    """The blocks of the mask of a function.

    Args:
        mask_mod: `mask_mod(b, h, q, k)` says whether a query attends to a key
        B, H: the numbers of batch entries and heads; None means that all are alike
        Q_LEN, KV_LEN: the numbers of queries and keys
        device: the CPU
        BLOCK_SIZE: the numbers of queries and keys in a block
        separate_full_blocks: whether blocks without a masked element have lists of their own

    Example:
        >>> from clew.nn.attention.flex_attention import create_block_mask
        >>> mask = create_block_mask(lambda b, h, q, k: q >= k, None, None, 256, 256)
        >>> mask.sparsity()
        25.0
    """
    taken = _positional(mask_mod)
    if taken != 4:
        raise AssertionError(
            f"create-block_mask requires a mask_mod function! Got {mask_mod}"
            if taken == 5 else f"Expected 4 or 5 positional args, got {taken}"
        )  # fmt: skip
    rows, columns = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    mask = pad(mask, (0, -KV_LEN % columns, 0, -Q_LEN % rows))
    shape = (*mask.shape[:2], mask.shape[2] // rows, rows, mask.shape[3] // columns, columns)
    counts = mask.reshape(shape).transpose(-2, -3).sum((-2, -1))
    full = counts == rows * columns
    partial = (counts > 0) & ~full if separate_full_blocks else counts > 0
    of_full = _ordered(full) if separate_full_blocks else (None, None)
    counted, listed = _ordered(partial)
    lengths = (Q_LEN, KV_LEN)
    return BlockMask.from_kv_blocks(
        counted, listed, of_full[0], of_full[1], (rows, columns), mask_mod, lengths
    )
