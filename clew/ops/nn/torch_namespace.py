"""Functions of `nn.functional` under `torch.*`, where PyTorch gives them other arguments.

Losses have their reduction by its number: 0 is none, 1 the mean, 2 the sum. Without one there is
none, whatever PyTorch's signatures say.
"""

from __future__ import annotations

from clew.core.public import public
from clew.core.tensor import Tensor
from clew.ops.linalg.addmm import Number, addmm
from clew.ops.nn import embedding as tables
from clew.ops.nn.activation import gated, leaky
from clew.ops.nn.loss import likelihood
from clew.ops.nn.loss import margin as margins
from clew.ops.pointwise.relu import relu

_REDUCTIONS = ("none", "mean", "sum")


def _name(reduction: int) -> str:
    """What `nn.functional` calls a reduction; for PyTorch every other number is none."""
    return _REDUCTIONS[reduction] if reduction in (0, 1, 2) else "none"


@public(name="_addmm_activation")
def _addmm_activation(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Number = 1, alpha: Number = 1,
    use_gelu: bool = False,
) -> Tensor:  # fmt: skip
    """`addmm` and `relu`, or `gelu`."""
    result = addmm(input, mat1, mat2, beta=beta, alpha=alpha)
    return gated.gelu(result) if use_gelu else relu(result)


@public(method=False, out=False, name="binary_cross_entropy_with_logits")
def _binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    pos_weight: Tensor | None = None,
    reduction: int = 0,
) -> Tensor:
    return likelihood.binary_cross_entropy_with_logits(
        input, target, weight, reduction=_name(reduction), pos_weight=pos_weight
    )


@public(method=False, out=False, name="kl_div")
def _kl_div(
    input: Tensor, target: Tensor, reduction: int = 0, *, log_target: bool = False
) -> Tensor:
    # The mean over elements, of which `nn.functional` warns, is not asked for there.
    loss = likelihood.kl_div(input, target, reduction="none", log_target=log_target)
    return loss.mean() if reduction == 1 else loss.sum() if reduction == 2 else loss


@public(method=False, out=False, name="poisson_nll_loss")
def _poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int
) -> Tensor:
    return likelihood.poisson_nll_loss(
        input, target, log_input, full, eps=eps, reduction=_name(reduction)
    )


@public(method=False, out=False, name="hinge_embedding_loss")
def _hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: float = 1.0, reduction: int = 0
) -> Tensor:
    return margins.hinge_embedding_loss(input, target, margin, reduction=_name(reduction))


@public(method=False, out=False, name="margin_ranking_loss")
def _margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0
) -> Tensor:
    return margins.margin_ranking_loss(input1, input2, target, margin, reduction=_name(reduction))


@public(method=False, out=False, name="cosine_embedding_loss")
def _cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0
) -> Tensor:
    return margins.cosine_embedding_loss(input1, input2, target, margin, reduction=_name(reduction))


@public(method=False, out=False, name="triplet_margin_loss")
def _triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: int = 0,
) -> Tensor:
    return margins.triplet_margin_loss(
        anchor, positive, negative, margin, p, eps, swap, reduction=_name(reduction)
    )


@public(method=False, out=False, name="rrelu")
def _rrelu(
    input: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False
) -> Tensor:
    return leaky.rrelu(input, lower, upper, training)


@public(method=False, out=False, name="embedding")
def _embedding(
    weight: Tensor,
    indices: Tensor,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    padding = None if padding_idx < 0 else padding_idx
    return tables.embedding(
        indices, weight, padding, scale_grad_by_freq=scale_grad_by_freq, sparse=sparse
    )


@public(method=False, out=False)
def embedding_renorm_(input: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """Shrink, in place, the rows of a table that are looked up and whose norm is too large.

    Args:
        input: the table
        indices: the rows
        max_norm: what norms may be
        norm_type: which norm: the exponent

    Example:
        >>> clew.embedding_renorm_(clew.tensor([[3.0, 4.0]]), clew.tensor([0]), 1.0, 2.0)
        tensor([[0.6000, 0.8000]])
    """
    tables.renormalize_rows(input, indices, max_norm, norm_type)
    return input


@public(method=False, out=False)
def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """Norms over all dimensions but one, which `weight_norm` divides by.

    Args:
        v: the tensor
        pow: the exponent of the norm
        dim: the dimension that stays; -1 is none

    Example:
        >>> clew.norm_except_dim(clew.tensor([[3.0, 4.0], [6.0, 8.0]]))
        tensor([[ 5.],
                [10.]])
    """
    if dim == -1:
        return v.norm(pow)
    others = [each for each in range(v._array.ndim) if each != dim]
    if not others:
        return v.abs()
    return v.norm(pow, others, keepdim=True)
