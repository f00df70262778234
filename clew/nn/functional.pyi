"""`torch.nn.functional`'s names: written by `python -m tests.type_stubs`."""

from typing import Any as _Any
from clew.backend.dtypes import dtype as _dtype
from clew.core.tensor import Tensor as Tensor
from clew.core.tensor import Tensor as _Tensor
from clew.nn import grad as grad
from collections.abc import Callable as _Callable
from collections.abc import Sequence as _Sequence
import builtins as _builtins

def adaptive_avg_pool1d(input: _Tensor, output_size: _Any) -> _Tensor:
    """Averages over so many nearly equal windows along the last dimension."""
def adaptive_avg_pool2d(input: _Tensor, output_size: _Any) -> _Tensor:
    """Averages over so many nearly equal windows; None keeps a dimension's size."""
def adaptive_avg_pool3d(input: _Tensor, output_size: _Any) -> _Tensor:
    """Averages over so many nearly equal windows; None keeps a dimension's size."""
def adaptive_max_pool1d(input: _Tensor, output_size: _Any, return_indices: _builtins.bool = False) -> _Any:
    """Largest values of so many nearly equal windows along the last dimension."""
def adaptive_max_pool1d_with_indices(input: _Tensor, output_size: _Any, return_indices: _builtins.bool = False) -> _builtins.tuple[_Tensor, _Tensor]:
    """Alias of `adaptive_max_pool1d` with `return_indices=True`."""
def adaptive_max_pool2d(input: _Tensor, output_size: _Any, return_indices: _builtins.bool = False) -> _Any:
    """Largest values of so many nearly equal windows; None keeps a dimension's size."""
def adaptive_max_pool2d_with_indices(input: _Tensor, output_size: _Any, return_indices: _builtins.bool = False) -> _builtins.tuple[_Tensor, _Tensor]:
    """Alias of `adaptive_max_pool2d` with `return_indices=True`."""
def adaptive_max_pool3d(input: _Tensor, output_size: _Any, return_indices: _builtins.bool = False) -> _Any:
    """Largest values of so many nearly equal windows; None keeps a dimension's size."""
def adaptive_max_pool3d_with_indices(input: _Tensor, output_size: _Any, return_indices: _builtins.bool = False) -> _builtins.tuple[_Tensor, _Tensor]:
    """Alias of `adaptive_max_pool3d` with `return_indices=True`."""
def affine_grid(theta: _Tensor, size: _Sequence[_builtins.int], align_corners: _builtins.bool | None = None) -> _Tensor:
    """The points to which the matrices `theta` move a regular grid over (N, C, *spatial)."""
def alpha_dropout(input: _Tensor, p: _builtins.float = 0.5, training: _builtins.bool = False, inplace: _builtins.bool = False) -> _Tensor:
    """Dropout that keeps the mean and variance of selu's outputs."""
def avg_pool1d(input: _Tensor, kernel_size: _Any, stride: _Any = None, padding: _Any = 0, ceil_mode: _builtins.bool = False, count_include_pad: _builtins.bool = True) -> _Tensor:
    """Averages of windows along the last dimension."""
def avg_pool2d(input: _Tensor, kernel_size: _Any, stride: _Any = None, padding: _Any = 0, ceil_mode: _builtins.bool = False, count_include_pad: _builtins.bool = True, divisor_override: _builtins.int | None = None, *, out: _Any = None) -> _Tensor:
    """Averages of windows over the last two dimensions."""
def avg_pool3d(input: _Tensor, kernel_size: _Any, stride: _Any = None, padding: _Any = 0, ceil_mode: _builtins.bool = False, count_include_pad: _builtins.bool = True, divisor_override: _builtins.int | None = None, *, out: _Any = None) -> _Tensor:
    """Averages of windows over the last three dimensions."""
def batch_norm(input: _Tensor, running_mean: _Tensor | None, running_var: _Tensor | None, weight: _Tensor | None = None, bias: _Tensor | None = None, training: _builtins.bool = False, momentum: _builtins.float = 0.1, eps: _builtins.float = 1e-05) -> _Tensor:
    """Mean 0 and variance 1 of each channel, over the batch or by running statistics."""
def bilinear(input1: _Tensor, input2: _Tensor, weight: _Tensor, bias: _Tensor | None = None) -> _Tensor:
    """`input1 @ weight[k] @ input2 + bias[k]` for every output feature `k`."""
def binary_cross_entropy(input: _Tensor, target: _Tensor, weight: _Tensor | None = None, size_average: _builtins.bool | None = None, reduce: _builtins.bool | None = None, reduction: _builtins.str = 'mean') -> _Tensor:
    """The cross entropy of probabilities of two classes."""
def binary_cross_entropy_with_logits(input: _Tensor, target: _Tensor, weight: _Tensor | None = None, size_average: _builtins.bool | None = None, reduce: _builtins.bool | None = None, reduction: _builtins.str = 'mean', pos_weight: _Tensor | None = None) -> _Tensor:
    """`binary_cross_entropy` of `sigmoid(input)`, computed without overflow."""
def celu(input: _Tensor, alpha: _builtins.float = 1.0, inplace: _builtins.bool = False) -> _Tensor:
    """`x` above 0, `alpha * (exp(x / alpha) - 1)` below."""
def celu_(input: _Tensor, alpha: _builtins.float = 1.0) -> _Tensor:
    """In-place version of `celu`."""
def channel_shuffle(input: _Tensor, groups: _builtins.int) -> _Tensor:
    """Divide the channels into groups and interleave them."""
def conv1d(input: _Tensor, weight: _Tensor, bias: _Tensor | None = None, stride: _Any = 1, padding: _Any = 0, dilation: _Any = 1, groups: _builtins.int = 1) -> _Tensor:
    """Cross-correlation of `input` with the kernels `weight`, over 1 dimension."""
def conv2d(input: _Tensor, weight: _Tensor, bias: _Tensor | None = None, stride: _Any = 1, padding: _Any = 0, dilation: _Any = 1, groups: _builtins.int = 1) -> _Tensor:
    """Cross-correlation of `input` with the kernels `weight`, over 2 dimensions."""
def conv3d(input: _Tensor, weight: _Tensor, bias: _Tensor | None = None, stride: _Any = 1, padding: _Any = 0, dilation: _Any = 1, groups: _builtins.int = 1) -> _Tensor:
    """Cross-correlation of `input` with the kernels `weight`, over 3 dimensions."""
def conv_tbc(input: _Tensor, weight: _Tensor, bias: _Tensor, pad: _builtins.int = 0) -> _Tensor:
    """Convolution over time of (time, batch, channels) with weight (time, in, out)."""
def conv_transpose1d(input: _Tensor, weight: _Tensor, bias: _Tensor | None = None, stride: _Any = 1, padding: _Any = 0, output_padding: _Any = 0, groups: _builtins.int = 1, dilation: _Any = 1) -> _Tensor:
    """Transposed convolution over 1 dimension: the gradient of `conv1d`."""
def conv_transpose2d(input: _Tensor, weight: _Tensor, bias: _Tensor | None = None, stride: _Any = 1, padding: _Any = 0, output_padding: _Any = 0, groups: _builtins.int = 1, dilation: _Any = 1) -> _Tensor:
    """Transposed convolution over 2 dimensions: the gradient of `conv2d`."""
def conv_transpose3d(input: _Tensor, weight: _Tensor, bias: _Tensor | None = None, stride: _Any = 1, padding: _Any = 0, output_padding: _Any = 0, groups: _builtins.int = 1, dilation: _Any = 1) -> _Tensor:
    """Transposed convolution over 3 dimensions: the gradient of `conv3d`."""
def cosine_embedding_loss(input1: _Tensor, input2: _Tensor, target: _Tensor, margin: _builtins.float = 0, size_average: _builtins.bool | None = None, reduce: _builtins.bool | None = None, reduction: _builtins.str = 'mean') -> _Tensor:
    """1 - cos where the target is 1; what cos exceeds the margin by where it is -1."""
def cosine_similarity(x1: _Tensor, x2: _Tensor, dim: _builtins.int = 1, eps: _builtins.float = 1e-08) -> _Tensor:
    """The cosine of the angle between vectors along a dimension."""
def cross_entropy(input: _Tensor, target: _Tensor, weight: _Tensor | None = None, size_average: _builtins.bool | None = None, ignore_index: _builtins.int = -100, reduce: _builtins.bool | None = None, reduction: _builtins.str = 'mean', label_smoothing: _builtins.float = 0.0) -> _Tensor:
    """The cross entropy of `softmax(input)` and the target: class indices or probabilities."""
def ctc_loss(log_probs: _Tensor, targets: _Tensor, input_lengths: _Tensor | _Sequence[_builtins.int], target_lengths: _Tensor | _Sequence[_builtins.int], blank: _builtins.int = 0, reduction: _builtins.str = 'mean', zero_infinity: _builtins.bool = False) -> _Tensor:
    """Minus the log probability of each target under all its alignments with the input."""
def dropout(input: _Tensor, p: _builtins.float = 0.5, training: _builtins.bool = True, inplace: _builtins.bool = False) -> _Tensor:
    """Elements set to 0 with probability `p`; the rest scaled by `1 / (1 - p)`."""
def dropout1d(input: _Tensor, p: _builtins.float = 0.5, training: _builtins.bool = True, inplace: _builtins.bool = False) -> _Tensor:
    """Dropout of whole channels of (N, C, L) or (C, L)."""
def dropout2d(input: _Tensor, p: _builtins.float = 0.5, training: _builtins.bool = True, inplace: _builtins.bool = False) -> _Tensor:
    """Dropout of whole channels of (N, C, H, W)."""
def dropout3d(input: _Tensor, p: _builtins.float = 0.5, training: _builtins.bool = True, inplace: _builtins.bool = False) -> _Tensor:
    """Dropout of whole channels of (N, C, D, H, W) or (C, D, H, W)."""
def elu(input: _Tensor, alpha: _builtins.float = 1.0, inplace: _builtins.bool = False) -> _Tensor:
    """`x` above 0, `alpha * (exp(x) - 1)` below."""
def elu_(input: _Tensor, alpha: _builtins.float = 1.0) -> _Tensor:
    """In-place version of `elu`."""
def embedding(input: _Tensor, weight: _Tensor, padding_idx: _builtins.int | None = None, max_norm: _builtins.float | None = None, norm_type: _builtins.float = 2.0, scale_grad_by_freq: _builtins.bool = False, sparse: _builtins.bool = False) -> _Tensor:
    """Rows of `weight`, as the input names them."""
def embedding_bag(input: _Tensor, weight: _Tensor, offsets: _Tensor | None = None, max_norm: _builtins.float | None = None, norm_type: _builtins.float = 2, scale_grad_by_freq: _builtins.bool = False, mode: _builtins.str = 'mean', sparse: _builtins.bool = False, per_sample_weights: _Tensor | None = None, include_last_offset: _builtins.bool = False, padding_idx: _builtins.int | None = None) -> _Tensor:
    """The sum, mean or maximum of the rows of `weight` that each bag lists."""
def feature_alpha_dropout(input: _Tensor, p: _builtins.float = 0.5, training: _builtins.bool = False, inplace: _builtins.bool = False) -> _Tensor:
    """`alpha_dropout` of whole channels."""
def fold(input: _Tensor, output_size: _Any, kernel_size: _Any, dilation: _Any = 1, padding: _Any = 0, stride: _Any = 1) -> _Tensor:
    """Sum columns (N, C * block, blocks) back to where `unfold` took them from."""
def fractional_max_pool2d(input: _Tensor, kernel_size: _Any, output_size: _Any = None, output_ratio: _builtins.float | _Sequence[_builtins.float] | None = None, return_indices: _builtins.bool = False, _random_samples: _Tensor | None = None) -> _Any:
    """Largest values of randomly placed windows over the last two dimensions."""
def fractional_max_pool2d_with_indices(input: _Tensor, kernel_size: _Any, output_size: _Any = None, output_ratio: _builtins.float | _Sequence[_builtins.float] | None = None, return_indices: _builtins.bool = False, _random_samples: _Tensor | None = None) -> _builtins.tuple[_Tensor, _Tensor]:
    """Alias of `fractional_max_pool2d` with `return_indices=True`."""
def fractional_max_pool3d(input: _Tensor, kernel_size: _Any, output_size: _Any = None, output_ratio: _builtins.float | _Sequence[_builtins.float] | None = None, return_indices: _builtins.bool = False, _random_samples: _Tensor | None = None) -> _Any:
    """Largest values of randomly placed windows over the last three dimensions."""
def fractional_max_pool3d_with_indices(input: _Tensor, kernel_size: _Any, output_size: _Any = None, output_ratio: _builtins.float | _Sequence[_builtins.float] | None = None, return_indices: _builtins.bool = False, _random_samples: _Tensor | None = None) -> _builtins.tuple[_Tensor, _Tensor]:
    """Alias of `fractional_max_pool3d` with `return_indices=True`."""
def gaussian_nll_loss(input: _Tensor, target: _Tensor | _builtins.float, var: _Tensor | _builtins.float, full: _builtins.bool | _builtins.int = False, eps: _builtins.float = 1e-06, reduction: _builtins.str = 'mean') -> _Tensor:
    """The negative log likelihood of `target` under normal distributions."""
def gelu(input: _Tensor, approximate: _builtins.str = 'none', *, out: _Any = None) -> _Tensor:
    """`x` times the normal distribution function of `x`, exact or by tanh."""
def glu(input: _Tensor, dim: _builtins.int = -1) -> _Tensor:
    """The first half along a dimension, times the sigmoid of the second."""
def grid_sample(input: _Tensor, grid: _Tensor, mode: _builtins.str = 'bilinear', padding_mode: _builtins.str = 'zeros', align_corners: _builtins.bool | None = None) -> _Tensor:
    """Values of (N, C, *S) at points (N, *P, axes) with coordinates from -1 to 1, width first."""
def group_norm(input: _Tensor, num_groups: _builtins.int, weight: _Tensor | None = None, bias: _Tensor | None = None, eps: _builtins.float = 1e-05) -> _Tensor:
    """Mean 0 and variance 1 of each group of channels of each sample."""
def grouped_mm(mat_a: _Tensor, mat_b: _Tensor, *, offs: _Tensor | None = None, bias: _Tensor | None = None, out_dtype: _dtype | None = None) -> _Tensor:
    """Products of matrices, group by group: the experts of a mixture, each with its own tokens."""
def gumbel_softmax(logits: _Tensor, tau: _builtins.float = 1, hard: _builtins.bool = False, eps: _builtins.float = 1e-10, dim: _builtins.int = -1) -> _Tensor:
    """A sample that is nearly one-hot, with a gradient for the logits."""
def hardshrink(input: _Tensor, lambd: _builtins.float = 0.5, *, out: _Any = None) -> _Tensor:
    """`x` outside of [-lambd, lambd], 0 within."""
def hardsigmoid(input: _Tensor, inplace: _builtins.bool = False) -> _Tensor:
    """A sigmoid of three straight pieces: `x / 6 + 1 / 2`, held between 0 and 1."""
def hardswish(input: _Tensor, inplace: _builtins.bool = False) -> _Tensor:
    """`x * hardsigmoid(x)`."""
def hardtanh(input: _Tensor, min_val: _builtins.float = -1.0, max_val: _builtins.float = 1.0, inplace: _builtins.bool = False) -> _Tensor:
    """`x`, held between the limits."""
def hardtanh_(input: _Tensor, min_val: _builtins.float = -1.0, max_val: _builtins.float = 1.0) -> _Tensor:
    """In-place version of `hardtanh`."""
def hinge_embedding_loss(input: _Tensor, target: _Tensor, margin: _builtins.float = 1.0, size_average: _builtins.bool | None = None, reduce: _builtins.bool | None = None, reduction: _builtins.str = 'mean') -> _Tensor:
    """The input where the target is 1; what it lacks of the margin where the target is -1."""
def huber_loss(input: _Tensor, target: _Tensor, reduction: _builtins.str = 'mean', delta: _builtins.float = 1.0, weight: _Tensor | None = None) -> _Tensor:
    """Squared below `delta`, absolute above: `delta` times `smooth_l1_loss`."""
def instance_norm(input: _Tensor, running_mean: _Tensor | None = None, running_var: _Tensor | None = None, weight: _Tensor | None = None, bias: _Tensor | None = None, use_input_stats: _builtins.bool = True, momentum: _builtins.float = 0.1, eps: _builtins.float = 1e-05) -> _Tensor:
    """Mean 0 and variance 1 of each channel of each sample."""
def interpolate(input: _Tensor, size: _builtins.int | _Sequence[_builtins.int] | None = None, scale_factor: _builtins.float | _Sequence[_builtins.float] | None = None, mode: _builtins.str = 'nearest', align_corners: _builtins.bool | None = None, recompute_scale_factor: _builtins.bool | None = None, antialias: _builtins.bool = False) -> _Tensor:
    """Resize the spatial dimensions of (N, C, ...) to a size or by a factor."""
def kl_div(input: _Tensor, target: _Tensor, size_average: _builtins.bool | None = None, reduce: _builtins.bool | None = None, reduction: _builtins.str = 'mean', log_target: _builtins.bool = False) -> _Tensor:
    """The Kullback-Leibler divergence of log-probabilities `input` from `target`."""
def l1_loss(input: _Tensor, target: _Tensor, size_average: _builtins.bool | None = None, reduce: _builtins.bool | None = None, reduction: _builtins.str = 'mean', weight: _Tensor | None = None) -> _Tensor:
    """The absolute difference."""
def layer_norm(input: _Tensor, normalized_shape: _Sequence[_builtins.int], weight: _Tensor | None = None, bias: _Tensor | None = None, eps: _builtins.float = 1e-05) -> _Tensor:
    """Mean 0 and variance 1 over the last dimensions, then scaled and shifted."""
def leaky_relu(input: _Tensor, negative_slope: _builtins.float = 0.01, inplace: _builtins.bool = False) -> _Tensor:
    """`x` above 0, `negative_slope * x` below."""
def leaky_relu_(input: _Tensor, negative_slope: _builtins.float = 0.01) -> _Tensor:
    """In-place version of `leaky_relu`."""
def linear(input: _Tensor, weight: _Tensor, bias: _Tensor | None = None, *, out: _Tensor | None = None) -> _Tensor:
    """`input @ weight.T + bias`."""
def linear_cross_entropy(input: _Tensor, linear_weight: _Tensor, target: _Tensor, *, linear_bias: _Tensor | None = None, weight: _Tensor | None = None, reduction: _builtins.str = 'mean', ignore_index: _builtins.int | None = None, label_smoothing: _builtins.float = 0.0, options: _Any = None) -> _Tensor:
    """`cross_entropy` of `linear(input, linear_weight, linear_bias)`."""
def local_response_norm(input: _Tensor, size: _builtins.int, alpha: _builtins.float = 0.0001, beta: _builtins.float = 0.75, k: _builtins.float = 1.0) -> _Tensor:
    """Each element divided by a power of the mean square of its neighbours across channels."""
def log_softmax(input: _Tensor, dim: _builtins.int | None = None, _stacklevel: _builtins.int = 3, dtype: _Any = None) -> _Tensor:
    """The logarithm of `softmax`, computed without its underflow."""
def logsigmoid(input: _Tensor, *, out: _Any = None) -> _Tensor:
    """`log(sigmoid(x))`, computed without the sigmoid's underflow."""
def lp_pool1d(input: _Tensor, norm_type: _builtins.float, kernel_size: _builtins.int, stride: _Any = None, ceil_mode: _builtins.bool = False) -> _Tensor:
    """(sum of x ** p) ** (1 / p) over windows along the last dimension."""
def lp_pool2d(input: _Tensor, norm_type: _builtins.float, kernel_size: _Any, stride: _Any = None, ceil_mode: _builtins.bool = False) -> _Tensor:
    """(sum of x ** p) ** (1 / p) over windows of the last two dimensions."""
def lp_pool3d(input: _Tensor, norm_type: _builtins.float, kernel_size: _Any, stride: _Any = None, ceil_mode: _builtins.bool = False) -> _Tensor:
    """(sum of x ** p) ** (1 / p) over windows of the last three dimensions."""
def margin_ranking_loss(input1: _Tensor, input2: _Tensor, target: _Tensor, margin: _builtins.float = 0, size_average: _builtins.bool | None = None, reduce: _builtins.bool | None = None, reduction: _builtins.str = 'mean') -> _Tensor:
    """What the first input lacks of being larger (target 1) or smaller (-1) by the margin."""
def max_pool1d(input: _Tensor, kernel_size: _Any, stride: _Any = None, padding: _Any = 0, dilation: _Any = 1, ceil_mode: _builtins.bool = False, return_indices: _builtins.bool = False) -> _Any:
    """Largest values of windows along the last dimension."""
def max_pool1d_with_indices(input: _Tensor, kernel_size: _Any, stride: _Any = None, padding: _Any = 0, dilation: _Any = 1, ceil_mode: _builtins.bool = False, return_indices: _builtins.bool = False) -> _builtins.tuple[_Tensor, _Tensor]:
    """Alias of `max_pool1d` with `return_indices=True`."""
def max_pool2d(input: _Tensor, kernel_size: _Any, stride: _Any = None, padding: _Any = 0, dilation: _Any = 1, ceil_mode: _builtins.bool = False, return_indices: _builtins.bool = False) -> _Any:
    """Largest values of windows over the last two dimensions."""
def max_pool2d_with_indices(input: _Tensor, kernel_size: _Any, stride: _Any = None, padding: _Any = 0, dilation: _Any = 1, ceil_mode: _builtins.bool = False, return_indices: _builtins.bool = False) -> _builtins.tuple[_Tensor, _Tensor]:
    """Alias of `max_pool2d` with `return_indices=True`."""
def max_pool3d(input: _Tensor, kernel_size: _Any, stride: _Any = None, padding: _Any = 0, dilation: _Any = 1, ceil_mode: _builtins.bool = False, return_indices: _builtins.bool = False) -> _Any:
    """Largest values of windows over the last three dimensions."""
def max_pool3d_with_indices(input: _Tensor, kernel_size: _Any, stride: _Any = None, padding: _Any = 0, dilation: _Any = 1, ceil_mode: _builtins.bool = False, return_indices: _builtins.bool = False) -> _builtins.tuple[_Tensor, _Tensor]:
    """Alias of `max_pool3d` with `return_indices=True`."""
def max_unpool1d(input: _Tensor, indices: _Tensor, kernel_size: _Any, stride: _Any = None, padding: _Any = 0, output_size: _Sequence[_builtins.int] | None = None) -> _Tensor:
    """Put values back where `max_pool1d` found them; zero elsewhere."""
def max_unpool2d(input: _Tensor, indices: _Tensor, kernel_size: _Any, stride: _Any = None, padding: _Any = 0, output_size: _Sequence[_builtins.int] | None = None) -> _Tensor:
    """Put values back where `max_pool2d` found them; zero elsewhere."""
def max_unpool3d(input: _Tensor, indices: _Tensor, kernel_size: _Any, stride: _Any = None, padding: _Any = 0, output_size: _Sequence[_builtins.int] | None = None) -> _Tensor:
    """Put values back where `max_pool3d` found them; zero elsewhere."""
def mish(input: _Tensor, inplace: _builtins.bool = False) -> _Tensor:
    """`x * tanh(softplus(x))`."""
def mse_loss(input: _Tensor, target: _Tensor, size_average: _builtins.bool | None = None, reduce: _builtins.bool | None = None, reduction: _builtins.str = 'mean', weight: _Tensor | None = None) -> _Tensor:
    """The squared difference."""
def multi_head_attention_forward(query: _Tensor, key: _Tensor, value: _Tensor, embed_dim_to_check: _builtins.int, num_heads: _builtins.int, in_proj_weight: _Tensor | None, in_proj_bias: _Tensor | None, bias_k: _Tensor | None, bias_v: _Tensor | None, add_zero_attn: _builtins.bool, dropout_p: _builtins.float, out_proj_weight: _Tensor, out_proj_bias: _Tensor | None, training: _builtins.bool = True, key_padding_mask: _Tensor | None = None, need_weights: _builtins.bool = True, attn_mask: _Tensor | None = None, use_separate_proj_weight: _builtins.bool = False, q_proj_weight: _Tensor | None = None, k_proj_weight: _Tensor | None = None, v_proj_weight: _Tensor | None = None, static_k: _Tensor | None = None, static_v: _Tensor | None = None, average_attn_weights: _builtins.bool = True, is_causal: _builtins.bool = False) -> _builtins.tuple[_Tensor, _Tensor | None]:
    """Attention of several heads over (L, N, E), or (L, E) without a batch."""
def multi_margin_loss(input: _Tensor, target: _Tensor, p: _builtins.float = 1, margin: _builtins.float = 1.0, weight: _Tensor | None = None, size_average: _builtins.bool | None = None, reduce: _builtins.bool | None = None, reduction: _builtins.str = 'mean') -> _Tensor:
    """What the target's score lacks of exceeding every other score by the margin."""
def multilabel_margin_loss(input: _Tensor, target: _Tensor, size_average: _builtins.bool | None = None, reduce: _builtins.bool | None = None, reduction: _builtins.str = 'mean') -> _Tensor:
    """What each label's score lacks of exceeding that of every other class by 1."""
def multilabel_soft_margin_loss(input: _Tensor, target: _Tensor | _builtins.float, weight: _Tensor | None = None, size_average: _builtins.bool | None = None, reduce: _builtins.bool | None = None, reduction: _builtins.str = 'mean') -> _Tensor:
    """The mean over classes of the cross entropy of each class against its absence."""
def nll_loss(input: _Tensor, target: _Tensor, weight: _Tensor | None = None, size_average: _builtins.bool | None = None, ignore_index: _builtins.int = -100, reduce: _builtins.bool | None = None, reduction: _builtins.str = 'mean') -> _Tensor:
    """Minus the score of the target class, which is a log-probability as a rule."""
def normalize(input: _Tensor, p: _builtins.float = 2.0, dim: _builtins.int | _builtins.tuple[_builtins.int, ...] = 1, eps: _builtins.float = 1e-12, out: _Tensor | None = None) -> _Tensor:
    """The input divided by its p-norm along a dimension, which is taken to be at least `eps`."""
def one_hot(tensor: _Tensor, num_classes: _builtins.int = -1) -> _Tensor:
    """A new last dimension that is 1 at the index and 0 elsewhere."""
def pad(input: _Tensor, pad: _Sequence[_builtins.int], mode: _builtins.str = 'constant', value: _builtins.float | None = None) -> _Tensor:
    """Pad the last dimensions: `pad` lists (before, after) from the last dimension on."""
def pairwise_distance(x1: _Tensor, x2: _Tensor, p: _builtins.float = 2.0, eps: _builtins.float = 1e-06, keepdim: _builtins.bool = False) -> _Tensor:
    """The p-norm of the difference, along the last dimension."""
def pdist(input: _Tensor, p: _builtins.float = 2.0) -> _Tensor:
    """The p-norm distances between every pair of rows."""
def pixel_shuffle(input: _Tensor, upscale_factor: _builtins.int) -> _Tensor:
    """(..., C * r * r, H, W) to (..., C, H * r, W * r)."""
def pixel_unshuffle(input: _Tensor, downscale_factor: _builtins.int) -> _Tensor:
    """(..., C, H * r, W * r) to (..., C * r * r, H, W)."""
def poisson_nll_loss(input: _Tensor, target: _Tensor, log_input: _builtins.bool = True, full: _builtins.bool = False, size_average: _builtins.bool | None = None, eps: _builtins.float = 1e-08, reduce: _builtins.bool | None = None, reduction: _builtins.str = 'mean') -> _Tensor:
    """The negative log likelihood of counts under a Poisson distribution."""
def prelu(input: _Tensor, weight: _Tensor) -> _Tensor:
    """`x` above 0, `weight * x` below, with a weight for each channel or one for all."""
def relu(input: _Tensor, inplace: _builtins.bool = False) -> _Tensor:
    """The positive part: `max(x, 0)`."""
def relu6(input: _Tensor, inplace: _builtins.bool = False) -> _Tensor:
    """`x`, held between 0 and 6."""
def relu_(input: _Tensor) -> _Tensor:
    """In-place version of `relu`."""
def rms_norm(input: _Tensor, normalized_shape: _Sequence[_builtins.int], weight: _Tensor | None = None, eps: _builtins.float | None = None) -> _Tensor:
    """The input divided by its root mean square over the last dimensions, then scaled."""
def rrelu(input: _Tensor, lower: _builtins.float = 0.125, upper: _builtins.float = 0.3333333333333333, training: _builtins.bool = False, inplace: _builtins.bool = False) -> _Tensor:
    """`x` above 0; below, `x` times a slope that is random while training."""
def rrelu_(input: _Tensor, lower: _builtins.float = 0.125, upper: _builtins.float = 0.3333333333333333, training: _builtins.bool = False) -> _Tensor:
    """In-place version of `rrelu`."""
def scaled_dot_product_attention(query: _Tensor, key: _Tensor, value: _Tensor, attn_mask: _Tensor | None = None, dropout_p: _builtins.float = 0.0, is_causal: _builtins.bool = False, scale: _builtins.float | None = None, enable_gqa: _builtins.bool = False) -> _Tensor:
    """`softmax(query @ key.T * scale + mask) @ value`."""
def selu(input: _Tensor, inplace: _builtins.bool = False) -> _Tensor:
    """The elu whose fixed point has mean 0 and variance 1."""
def selu_(input: _Tensor) -> _Tensor:
    """In-place version of `selu`."""
def sigmoid(input: _Tensor) -> _Tensor:
    """The logistic function `1 / (1 + exp(-input))`, which has values between 0 and 1."""
def silu(input: _Tensor, inplace: _builtins.bool = False) -> _Tensor:
    """`x * sigmoid(x)`, also known as swish."""
def smooth_l1_loss(input: _Tensor, target: _Tensor, size_average: _builtins.bool | None = None, reduce: _builtins.bool | None = None, reduction: _builtins.str = 'mean', beta: _builtins.float = 1.0) -> _Tensor:
    """Squared below `beta`, absolute above, joined smoothly."""
def soft_margin_loss(input: _Tensor, target: _Tensor, size_average: _builtins.bool | None = None, reduce: _builtins.bool | None = None, reduction: _builtins.str = 'mean') -> _Tensor:
    """log(1 + exp(-target * input)) for targets of 1 and -1."""
def softmax(input: _Tensor, dim: _builtins.int | None = None, _stacklevel: _builtins.int = 3, dtype: _Any = None) -> _Tensor:
    """exp(x) divided by its sum along a dimension."""
def softmin(input: _Tensor, dim: _builtins.int | None = None, _stacklevel: _builtins.int = 3, dtype: _Any = None) -> _Tensor:
    """`softmax` of the negated input."""
def softplus(input: _Tensor, beta: _builtins.float = 1.0, threshold: _builtins.float = 20.0, *, out: _Any = None) -> _Tensor:
    """`log(1 + exp(beta * x)) / beta`; a straight line above the threshold."""
def softshrink(input: _Tensor, lambd: _builtins.float = 0.5, *, out: _Any = None) -> _Tensor:
    """`x`, moved towards 0 by `lambd` and not past it."""
def softsign(input: _Tensor) -> _Tensor:
    """`x / (1 + |x|)`: any number to one between -1 and 1."""
def tanh(input: _Tensor) -> _Tensor:
    """The hyperbolic tangent, which has values between -1 and 1."""
def tanhshrink(input: _Tensor) -> _Tensor:
    """`x - tanh(x)`: next to nothing near 0."""
def threshold(input: _Tensor, threshold: _builtins.complex, value: _builtins.complex, inplace: _builtins.bool = False) -> _Tensor:
    """`x` above the threshold, `value` up to it."""
def threshold_(input: _Tensor, threshold: _builtins.complex, value: _builtins.complex) -> _Tensor:
    """In-place version of `threshold`."""
def triplet_margin_loss(anchor: _Tensor, positive: _Tensor, negative: _Tensor, margin: _builtins.float = 1.0, p: _builtins.float = 2, eps: _builtins.float = 1e-06, swap: _builtins.bool = False, size_average: _builtins.bool | None = None, reduce: _builtins.bool | None = None, reduction: _builtins.str = 'mean') -> _Tensor:
    """What the negative lacks of being further from the anchor than the positive by the margin."""
def triplet_margin_with_distance_loss(anchor: _Tensor, positive: _Tensor, negative: _Tensor, *, distance_function: _Callable[[_Tensor, _Tensor], _Tensor] | None = None, margin: _builtins.float = 1.0, swap: _builtins.bool = False, reduction: _builtins.str = 'mean') -> _Tensor:
    """`triplet_margin_loss` with any distance."""
def unfold(input: _Tensor, kernel_size: _Any, dilation: _Any = 1, padding: _Any = 0, stride: _Any = 1) -> _Tensor:
    """Sliding blocks of (N, C, H, W) as the columns of (N, C * block, blocks)."""
def upsample(input: _Tensor, size: _Any = None, scale_factor: _Any = None, mode: _builtins.str = 'nearest', align_corners: _builtins.bool | None = None) -> _Tensor:
    """Deprecated: the old name of `interpolate`."""
def upsample_bilinear(input: _Tensor, size: _Any = None, scale_factor: _Any = None) -> _Tensor:
    """Deprecated: the old name of `interpolate(mode="bilinear", align_corners=True)`."""
def upsample_nearest(input: _Tensor, size: _Any = None, scale_factor: _Any = None) -> _Tensor:
    """Deprecated: the old name of `interpolate(mode="nearest")`."""
