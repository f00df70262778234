"""`torch.nn.functional`'s names: every function over tensors that layers are made of."""

# ruff: noqa: F401  (names are imported here to be found here)

from __future__ import annotations

from clew.core.inplace import apply_inplace
from clew.core.op import OPS
from clew.core.tensor import Tensor
from clew.ops import clamping
from clew.ops.activation import (
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
from clew.ops.activation_gates import gelu, glu, mish, silu
from clew.ops.activation_pieces import (
    hardshrink,
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
from clew.ops.activation_slopes import leaky_relu, leaky_relu_, prelu, rrelu, rrelu_
from clew.ops.attention import scaled_dot_product_attention
from clew.ops.average_pooling import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    lp_pool1d,
    lp_pool2d,
    lp_pool3d,
)
from clew.ops.batch_normalization import batch_norm
from clew.ops.convolution import (
    conv1d,
    conv2d,
    conv3d,
    conv_tbc,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
)
from clew.ops.distance import cosine_similarity, normalize, pairwise_distance, pdist
from clew.ops.dropout import (
    alpha_dropout,
    dropout,
    dropout1d,
    dropout2d,
    dropout3d,
    feature_alpha_dropout,
)
from clew.ops.embedding import embedding, one_hot
from clew.ops.embedding_bag import embedding_bag
from clew.ops.folding import (
    channel_shuffle,
    fold,
    pixel_shuffle,
    pixel_unshuffle,
    unfold,
)
from clew.ops.grid_sampling import (
    affine_grid,
    grid_sample,
)
from clew.ops.group_normalization import group_norm, instance_norm
from clew.ops.linear import bilinear, linear
from clew.ops.loss import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    gaussian_nll_loss,
    huber_loss,
    kl_div,
    l1_loss,
    mse_loss,
    poisson_nll_loss,
    smooth_l1_loss,
)
from clew.ops.loss_class import cross_entropy, linear_cross_entropy, nll_loss
from clew.ops.loss_ctc import ctc_loss
from clew.ops.loss_margin import (
    cosine_embedding_loss,
    hinge_embedding_loss,
    margin_ranking_loss,
    multi_margin_loss,
    multilabel_margin_loss,
    multilabel_soft_margin_loss,
    soft_margin_loss,
    triplet_margin_loss,
    triplet_margin_with_distance_loss,
)
from clew.ops.multihead import multi_head_attention_forward
from clew.ops.normalization import layer_norm, local_response_norm
from clew.ops.padding import (
    pad,
)
from clew.ops.pooling import (
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
from clew.ops.resample import (
    interpolate,
    upsample,
    upsample_bilinear,
    upsample_nearest,
)
from clew.ops.rms_normalization import rms_norm
from clew.ops.softmax import functional_log_softmax as log_softmax
from clew.ops.softmax import functional_softmax as softmax
from clew.ops.softmax import gumbel_softmax, softmin
from clew.ops.transcendental import sigmoid, tanh
from clew.ops.unpooling import (
    fractional_max_pool2d,
    fractional_max_pool2d_with_indices,
    fractional_max_pool3d,
    fractional_max_pool3d_with_indices,
    max_unpool1d,
    max_unpool2d,
    max_unpool3d,
)


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """`max(x, 0)`."""
    return apply_inplace(OPS["relu"], input) if inplace else clamping.relu(input)
