"""`torch.nn.functional`'s names: every function over tensors that layers are made of."""

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
    gelu,
    logsigmoid,
    mish,
    relu_,
    selu,
    selu_,
    silu,
    softplus,
)
from clew.ops.dropout import (
    alpha_dropout,
    dropout,
    dropout1d,
    dropout2d,
    dropout3d,
    feature_alpha_dropout,
)
from clew.ops.embedding import embedding
from clew.ops.linear import linear
from clew.ops.loss_class import cross_entropy, nll_loss
from clew.ops.normalization import layer_norm
from clew.ops.softmax import functional_log_softmax as log_softmax
from clew.ops.softmax import functional_softmax as softmax
from clew.ops.softmax import softmin


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """`max(x, 0)`."""
    return apply_inplace(OPS["relu"], input) if inplace else clamping.relu(input)
