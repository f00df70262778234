"""Tables of vectors that are looked up by index, one at a time or in bags."""

# ruff: noqa: RUF012  (`__constants__` is a list, as in PyTorch)

from __future__ import annotations

from typing import Any

from clew import errors
from clew.autograd.grad_mode import no_grad
from clew.backend.dtypes import dtype as DType
from clew.core.tensor import Tensor
from clew.nn import functional as F
from clew.nn import init
from clew.nn.modules.module import Module
from clew.nn.parameter import Parameter
from clew.ops.create.constants import empty

__all__ = ["Embedding", "EmbeddingBag"]


class _Table(Module):
    """What both have: a weight with one row per index, of which one may stay zero."""

    num_embeddings: int
    embedding_dim: int
    padding_idx: int | None
    max_norm: float | None
    norm_type: float
    scale_grad_by_freq: bool
    sparse: bool
    weight: Tensor

    _padding_name = "padding_idx"

    def _set_up(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None,
        weight: Tensor | None,
        freeze: bool,
        device: Any,
        dtype: DType | None,
    ) -> None:
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = self._checked_padding_idx(padding_idx)
        if weight is None:
            fresh = empty((num_embeddings, embedding_dim), device=device, dtype=dtype)
            self.weight = Parameter(fresh, requires_grad=not freeze)
            self.reset_parameters()
        elif tuple(weight.shape) != (num_embeddings, embedding_dim):
            raise AssertionError(
                "Shape of weight does not match num_embeddings and embedding_dim\n"
                f"  {tuple(weight.shape)} is not ({num_embeddings}, {embedding_dim})"
                + errors.at_user_line()
            )
        else:
            self.weight = Parameter(weight, requires_grad=not freeze)

    def _checked_padding_idx(self, padding_idx: int | None) -> int | None:
        if padding_idx is None:
            return None
        if not -self.num_embeddings <= padding_idx < self.num_embeddings:
            raise AssertionError(
                f"{self._padding_name} must be within num_embeddings\n"
                f"  There is no row {padding_idx} among {self.num_embeddings}"
                + errors.at_user_line()
            )
        return padding_idx % self.num_embeddings

    def reset_parameters(self) -> None:
        """Draw the table anew from the normal distribution."""
        init.normal_(self.weight)
        self._fill_padding_idx_with_zero()

    def _fill_padding_idx_with_zero(self) -> None:
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)

    def _unusual(self) -> list[str]:
        """The parts of the repr that tell of settings other than the defaults."""
        parts = []
        if self.max_norm is not None:
            parts.append(f"max_norm={self.max_norm}")
        if self.norm_type != 2:
            parts.append(f"norm_type={self.norm_type}")
        if self.scale_grad_by_freq is not False:
            parts.append(f"scale_grad_by_freq={self.scale_grad_by_freq}")
        return parts


def _rows_and_columns(embeddings: Tensor) -> tuple[int, int]:
    if embeddings.dim() != 2:
        raise AssertionError(
            "Embeddings parameter is expected to be 2-dimensional\n"
            f"  This one has shape {tuple(embeddings.shape)}" + errors.at_user_line()
        )
    return embeddings.shape[0], embeddings.shape[1]


class Embedding(_Table):
    """A table of vectors; the output has the rows that the input names.

    Args:
        num_embeddings: the number of vectors
        embedding_dim: their size
        padding_idx: a row that starts as zeros and is not trained
        max_norm: shorten the rows that are used to this norm, in place
        norm_type: the order of that norm
        scale_grad_by_freq: divide a row's gradient by how often the input names it
        sparse: taken as in PyTorch; gradients are dense all the same
        device, dtype: of the table

    Shape: (*) of integers to (*, embedding_dim)

    Example:
        >>> table = nn.Embedding(10, 3, padding_idx=0)
        >>> table(clew.tensor([[1, 2, 0], [4, 3, 9]])).shape
        torch.Size([2, 3, 3])
        >>> table(clew.tensor([0]))
        tensor([[0., 0., 0.]], grad_fn=<EmbeddingBackward0>)
    """

    __constants__ = [
        "num_embeddings",
        "embedding_dim",
        "padding_idx",
        "max_norm",
        "norm_type",
        "scale_grad_by_freq",
        "sparse",
    ]

    _padding_name = "Padding_idx"

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse
        self._set_up(num_embeddings, embedding_dim, padding_idx, _weight, _freeze, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        return F.embedding(
            input,
            self.weight,
            self.padding_idx,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.sparse,
        )

    def extra_repr(self) -> str:
        parts = [str(self.num_embeddings), str(self.embedding_dim)]
        if self.padding_idx is not None:
            parts.append(f"padding_idx={self.padding_idx}")
        parts += self._unusual()
        if self.sparse is not False:
            parts.append("sparse=True")
        return ", ".join(parts)

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Embedding:
        """An Embedding whose weight is the given matrix, by default not trained."""
        rows, columns = _rows_and_columns(embeddings)
        return cls(
            num_embeddings=rows,
            embedding_dim=columns,
            _weight=embeddings,
            _freeze=freeze,
            padding_idx=padding_idx,
            max_norm=max_norm,
            norm_type=norm_type,
            scale_grad_by_freq=scale_grad_by_freq,
            sparse=sparse,
        )


class EmbeddingBag(_Table):
    """A table of vectors; the output has the sum, mean or maximum of each bag of rows.

    Args:
        num_embeddings: the number of vectors
        embedding_dim: their size
        max_norm: shorten the rows that are used to this norm, in place
        norm_type: the order of that norm
        scale_grad_by_freq: divide a row's gradient by how often the input names it
        mode: "sum", "mean" or "max"
        sparse: taken as in PyTorch; gradients are dense all the same
        include_last_offset: whether `offsets` ends with the size of the input
        padding_idx: a row that takes no part and is not trained
        device, dtype: of the table

    Shape: (B, L) of integers, or (L) with offsets (B), to (B, embedding_dim)

    Example:
        >>> bags = nn.EmbeddingBag(10, 3, mode="sum")
        >>> bags(clew.tensor([1, 2, 4, 5, 4]), clew.tensor([0, 2])).shape
        torch.Size([2, 3])
    """

    __constants__ = [
        "num_embeddings",
        "embedding_dim",
        "max_norm",
        "norm_type",
        "scale_grad_by_freq",
        "mode",
        "sparse",
        "include_last_offset",
        "padding_idx",
    ]

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.mode = mode
        self.sparse = sparse
        self.include_last_offset = include_last_offset
        self._set_up(num_embeddings, embedding_dim, padding_idx, _weight, False, device, dtype)

    def forward(
        self,
        input: Tensor,
        offsets: Tensor | None = None,
        per_sample_weights: Tensor | None = None,
    ) -> Tensor:
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    def extra_repr(self) -> str:
        parts = [str(self.num_embeddings), str(self.embedding_dim), *self._unusual()]
        parts.append(f"mode={self.mode!r}")
        if self.padding_idx is not None:
            parts.append(f"padding_idx={self.padding_idx}")
        return ", ".join(parts)

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> EmbeddingBag:
        """An EmbeddingBag whose weight is the given matrix, by default not trained."""
        rows, columns = _rows_and_columns(embeddings)
        bag = cls(
            num_embeddings=rows,
            embedding_dim=columns,
            _weight=embeddings,
            max_norm=max_norm,
            norm_type=norm_type,
            scale_grad_by_freq=scale_grad_by_freq,
            mode=mode,
            sparse=sparse,
            include_last_offset=include_last_offset,
            padding_idx=padding_idx,
        )
        bag.weight.requires_grad = not freeze
        return bag
