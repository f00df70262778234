"""Tools around parameters and sequences."""

from typing import TYPE_CHECKING

from clew.aliasing import on_request
from clew.nn.utils import rnn
from clew.nn.utils.clip_grad import (
    clip_grad_norm,
    clip_grad_norm_,
    clip_grad_value_,
    clip_grads_with_norm_,
    get_total_norm,
)
from clew.nn.utils.convert_parameters import parameters_to_vector, vector_to_parameters
from clew.nn.utils.fusion import (
    fuse_conv_bn_eval,
    fuse_conv_bn_weights,
    fuse_linear_bn_eval,
    fuse_linear_bn_weights,
)
from clew.nn.utils.init import skip_init
from clew.nn.utils.memory_format import (
    convert_conv2d_weight_memory_format,
    convert_conv3d_weight_memory_format,
)
from clew.nn.utils.spectral_norm import remove_spectral_norm, spectral_norm
from clew.nn.utils.weight_norm import remove_weight_norm, weight_norm

if TYPE_CHECKING:
    from clew.nn.utils import parametrizations, parametrize, prune, stateless

__getattr__, __dir__ = on_request(
    __name__, {"parametrizations", "parametrize", "prune", "stateless"}
)

__all__ = [
    "clip_grad_norm",
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "convert_conv2d_weight_memory_format",
    "convert_conv3d_weight_memory_format",
    "fuse_conv_bn_eval",
    "fuse_conv_bn_weights",
    "fuse_linear_bn_eval",
    "fuse_linear_bn_weights",
    "get_total_norm",
    "parameters_to_vector",
    "parametrizations",
    "parametrize",
    "prune",
    "remove_spectral_norm",
    "remove_weight_norm",
    "rnn",
    "skip_init",
    "spectral_norm",
    "stateless",
    "vector_to_parameters",
    "weight_norm",
]
