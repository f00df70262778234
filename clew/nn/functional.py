"""`torch.nn.functional`'s names: every function over tensors that layers are made of."""

# ruff: noqa: F401  (names are imported here to be found here)

from __future__ import annotations

from clew.core.inplace import apply_inplace as _apply_inplace
from clew.core.op import OPS
from clew.core.overrides import overridable as _overridable
from clew.core.public import FUNCTIONS as _FUNCTIONS
from clew.core.public import findable as _findable
from clew.core.tensor import Tensor
from clew.nn import _reduction as _Reduction
from clew.nn import grad
from clew.ops.linalg.grouped import grouped_mm
from clew.ops.nn.activation.gated import gelu, glu, mish, silu
from clew.ops.nn.activation.leaky import leaky_relu, leaky_relu_, prelu, rrelu, rrelu_
from clew.ops.nn.activation.piecewise import (
    hardsigmoid,
    hardswish,
    hardtanh,
    hardtanh_,
    relu6,
    softshrink,
    softsign,
    tanhshrink,
    threshold,
    threshold_,
)
from clew.ops.nn.activation.softmax import functional_log_softmax as log_softmax
from clew.ops.nn.activation.softmax import functional_softmax as softmax
from clew.ops.nn.activation.softmax import gumbel_softmax, softmin
from clew.ops.nn.activation.unary import (
    celu,
    celu_,
    elu,
    elu_,
    logsigmoid,
    relu_,
    selu,
    selu_,
    softplus,
)
from clew.ops.nn.attention import scaled_dot_product_attention
from clew.ops.nn.average_pooling import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
)
from clew.ops.nn.batch_norm import batch_norm
from clew.ops.nn.convolution import (
    conv1d,
    conv2d,
    conv3d,
    conv_tbc,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
)
from clew.ops.nn.distance import cosine_similarity, normalize, pairwise_distance, pdist
from clew.ops.nn.dropout import (
    alpha_dropout,
    dropout,
    dropout1d,
    dropout2d,
    dropout3d,
    feature_alpha_dropout,
)
from clew.ops.nn.embedding import embedding, one_hot
from clew.ops.nn.embedding_bag import embedding_bag
from clew.ops.nn.fold import (
    channel_shuffle,
    fold,
    pixel_shuffle,
    pixel_unshuffle,
    unfold,
)
from clew.ops.nn.grid_sample import (
    affine_grid,
    grid_sample,
)
from clew.ops.nn.group_norm import group_norm, instance_norm
from clew.ops.nn.interpolate import (
    interpolate,
    upsample,
    upsample_bilinear,
    upsample_nearest,
)
from clew.ops.nn.layer_norm import layer_norm
from clew.ops.nn.linear import bilinear, linear
from clew.ops.nn.local_response_norm import local_response_norm
from clew.ops.nn.loss.classification import cross_entropy, nll_loss
from clew.ops.nn.loss.ctc import ctc_loss
from clew.ops.nn.loss.elementwise import huber_loss, l1_loss, mse_loss, smooth_l1_loss
from clew.ops.nn.loss.likelihood import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    gaussian_nll_loss,
    kl_div,
    poisson_nll_loss,
)
from clew.ops.nn.loss.linear_cross_entropy import linear_cross_entropy
from clew.ops.nn.loss.margin import (
    cosine_embedding_loss,
    hinge_embedding_loss,
    margin_ranking_loss,
    multilabel_soft_margin_loss,
    soft_margin_loss,
    triplet_margin_loss,
    triplet_margin_with_distance_loss,
)
from clew.ops.nn.loss.multi_margin import multi_margin_loss, multilabel_margin_loss
from clew.ops.nn.max_pooling import (
    adaptive_max_pool1d,
    adaptive_max_pool1d_with_indices,
    adaptive_max_pool2d,
    adaptive_max_pool2d_with_indices,
    adaptive_max_pool3d,
    adaptive_max_pool3d_with_indices,
    max_pool1d,
    max_pool1d_with_indices,
    max_pool2d,
    max_pool2d_with_indices,
    max_pool3d,
    max_pool3d_with_indices,
)
from clew.ops.nn.multihead_attention import multi_head_attention_forward
from clew.ops.nn.padding import (
    pad,
)
from clew.ops.nn.power_pooling import lp_pool1d, lp_pool2d, lp_pool3d
from clew.ops.nn.rms_norm import rms_norm
from clew.ops.nn.unpooling import (
    fractional_max_pool2d,
    fractional_max_pool2d_with_indices,
    fractional_max_pool3d,
    fractional_max_pool3d_with_indices,
    max_unpool1d,
    max_unpool2d,
    max_unpool3d,
)
from clew.ops.pointwise.relu import relu as _relu
from clew.ops.pointwise.transcendental import sigmoid, tanh

hardshrink = _FUNCTIONS["hardshrink"]


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """The positive part: `max(x, 0)`.

    Args:
        input: any real tensor
        inplace: overwrite `input`

    Example:
        >>> F.relu(clew.tensor([-1.0, 0.0, 2.0]))
        tensor([0., 0., 2.])
    """
    return _apply_inplace(OPS["relu"], input) if inplace else _relu(input)


_findable(globals())
_overridable("torch.nn.functional", globals())
