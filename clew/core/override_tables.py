"""Tables for `core/overrides.py`: what can be taken over, and in which form handlers get it."""

from __future__ import annotations

# PyTorch's operators are these methods under another name.
METHOD_OF_OPERATOR = {
    "__add__": "add", "__radd__": "add", "__iadd__": "add_", "__sub__": "sub", "__isub__": "sub_",
    "__mul__": "mul", "__rmul__": "mul", "__imul__": "mul_", "__truediv__": "div",
    "__itruediv__": "div_", "__mod__": "remainder", "__imod__": "remainder_",
    "__matmul__": "matmul", "__pow__": "pow", "__ipow__": "pow_", "__lt__": "lt", "__le__": "le",
    "__gt__": "gt", "__ge__": "ge", "__ne__": "ne", "__neg__": "neg", "__abs__": "abs",
    "__pos__": "positive", "__rtruediv__": "__rdiv__", "__str__": "__repr__",
}  # fmt: skip
OPERATORS = frozenset(
    f"__{prefix}{name}__"
    for name in (
        "add", "sub", "mul", "truediv", "floordiv", "mod", "matmul", "pow", "and", "or", "xor",
        "lshift", "rshift", "lt", "le", "gt", "ge", "eq", "ne",
    )
    for prefix in ("", "r", "i")
)  # fmt: skip

# What nothing takes over.
IGNORED = frozenset(
    {
        "__hash__", "__new__", "__init__", "__init_subclass__", "__torch_function__", "__iter__",
        "__dir__", "__copy__", "__array_wrap__", "__class_getitem__", "as_subclass",
        "manual_seed", "seed", "initial_seed", "is_tensor", "is_storage", "from_numpy",
        "from_file", "set_default_tensor_type", "set_printoptions", "broadcast_shapes",
        "can_cast", "calculate_gain", "typename", "frombuffer", "from_dlpack", "get_rng_state",
        "set_rng_state", "thread_safe_generator", "compiled_with_cxx11_abi",
    }
)  # fmt: skip
PRIVATE = ("_base", "_version", "_is_view", "_grad_fn", "_backward_hooks", "_foreach_", "_assert")
# What makes tensors of numbers: a tensor among them is a number like others.
OF_NUMBERS = frozenset(
    f"torch.{name}"
    for name in (
        "tensor", "as_tensor", "asarray", "arange", "range", "full", "scalar_tensor", "linspace",
        "logspace", "ones", "zeros", "empty", "rand", "randn", "randint", "eye",
    )
)  # fmt: skip
# Of these, the ones that read whatever they are given.
OF_DATA = frozenset({"torch.tensor", "torch.as_tensor", "torch.asarray"})

# Functions that PyTorch has in `torch.functional`, where they are written in Python.
FUNCTIONAL = frozenset(
    {
        "atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_tensors",
        "cartesian_prod", "cdist", "chain_matmul", "einsum", "lu", "meshgrid", "norm",
        "pca_lowrank", "split", "stft", "svd_lowrank", "tensordot", "unique",
        "unique_consecutive", "unravel_index",
    }
)  # fmt: skip
# Those of `torch.nn.functional` that are not: PyTorch has them in its compiled part, or directly
# in `torch`.
COMPILED_NN = frozenset(
    {
        "avg_pool2d", "avg_pool3d", "elu_", "gelu", "hardtanh_", "leaky_relu_", "linear",
        "logsigmoid", "one_hot", "scaled_dot_product_attention", "softplus", "softshrink",
    }
)  # fmt: skip
TOP_LEVEL_NN = frozenset(
    {
        "adaptive_avg_pool1d", "avg_pool1d", "bilinear", "celu_", "channel_shuffle", "conv1d",
        "conv2d", "conv3d", "conv_tbc", "conv_transpose1d", "conv_transpose2d",
        "conv_transpose3d", "cosine_similarity", "hardshrink", "pairwise_distance", "pdist",
        "pixel_shuffle", "pixel_unshuffle", "prelu", "relu_", "rrelu_", "selu_", "threshold_",
    }
)  # fmt: skip
_PYTHON_METHODS = frozenset(
    {
        "__repr__", "backward", "norm", "lu", "stft", "istft", "split", "unique",
        "unique_consecutive", "__array__", "__dlpack__", "module_load",
    }
)  # fmt: skip

# Among these, where `out` is, which clew's functions take without naming it: after this argument.
OUT_AFTER = {"torch.functional.norm": "keepdim", "torch.functional.tensordot": "dims"}

# How a handler gets the arguments of a function: as they are; those with a default by keyword, as
# functions do that PyTorch has in Python; all by keyword.
AS_GIVEN, DEFAULTS_BY_KEYWORD, ALL_BY_KEYWORD = range(3)


def arrangement(name: str) -> int:
    """How a handler gets the arguments of the function of this name."""
    prefix, _, last = name.rpartition(".")
    if prefix == "torch.nn.init":
        return ALL_BY_KEYWORD
    in_python = (
        prefix in ("torch.functional", "torch.autograd")
        or (prefix == "torch.nn.functional" and last not in COMPILED_NN | TOP_LEVEL_NN)
        or (prefix == "torch.Tensor" and last in _PYTHON_METHODS)
    )
    return DEFAULTS_BY_KEYWORD if in_python else AS_GIVEN
