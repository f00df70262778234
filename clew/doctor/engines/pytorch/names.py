"""The names that operations have in clew, for those of PyTorch."""

from __future__ import annotations

import functools
import re
from typing import Any

import torch

# By the name and overload of an operation of ATen; others are called as they are.
_OVERLOADS = {
    "mean.dim": "mean_dim", "sum.dim_IntList": "sum_dim", "max.dim": "max_dim",
    "min.dim": "min_dim", "squeeze.dim": "squeeze_dim", "squeeze.dims": "squeeze_dims",
    "clamp.default": "clamp.numbers", "clamp_min.default": "clamp_min.number",
    "clamp_max.default": "clamp_max.number", "rsub.Scalar": "rsub.number",
    "masked_fill.Tensor": "masked_fill_tensor", "fill.Tensor": "fill_tensor",
    "scatter.value": "scatter_value",
}  # fmt: skip
_NAMES = {
    "_softmax": "softmax", "_log_softmax": "log_softmax", "nll_loss_forward": "nll_loss",
    "nll_loss2d_forward": "nll_loss", "log_sigmoid_forward": "log_sigmoid",
    "native_dropout": "_dropout_noise", "mkldnn_rnn_layer": "_lstm_layer",
    "_thnn_fused_lstm_cell": "_lstm_layer", "_thnn_fused_gru_cell": "_gru_layer",
    "_cudnn_rnn": "_lstm_layer", "miopen_rnn": "_lstm_layer", "special_xlogy": "xlogy",
    "mkldnn_convolution": "convolution", "cudnn_convolution": "convolution",
    "_convolution": "convolution", "view_copy": "view", "_reshape_alias": "view",
    "prelu_kernel": "prelu", "div.Tensor_mode": "div",
}  # fmt: skip
# Functions that are one layer to the doctor, whatever operations they run.
LAYERS = {"lstm": "_lstm_layer", "gru": "_gru_layer", "rnn_tanh": "_rnn_layer",
          "rnn_relu": "_rnn_layer"}  # fmt: skip
# By the name of a node, where it is not that of the operation in another spelling.
_NODES = {
    "MeanBackward1": "mean_dim", "SumBackward1": "sum_dim", "MaxBackward0": "max_dim",
    "MinBackward0": "min_dim", "MaxBackward1": "max", "MinBackward1": "min",
    "SqueezeBackward1": "squeeze_dim", "SqueezeBackward2": "squeeze_dims", "TBackward0": "t",
    "UnsafeViewBackward0": "_unsafe_view", "ToCopyBackward0": "_to_copy",
    "ReshapeAliasBackward0": "view", "CopyBackwards": "copy", "CopySlices": "copy",
    "MkldnnRnnLayerBackward0": "_lstm_layer", "CudnnRnnBackward0": "_lstm_layer",
    "MkldnnConvolutionBackward0": "convolution", "ViewBackward0": "view",
    "AddBackward1": "add", "RsubBackward1": "rsub.number", "SafeSoftmaxBackward0": "_safe_softmax",
    "LogSigmoidBackward0": "log_sigmoid", "NllLoss2DBackward0": "nll_loss",
    "NativeDropoutBackward0": "_dropout_noise", "ClampBackward1": "clamp.numbers",
    "ClampMinBackward0": "clamp_min.number", "ClampMaxBackward0": "clamp_max.number",
    "IndexBackward0": "index", "EmbeddingBackward0": "embedding", "PowBackward0": "pow",
}  # fmt: skip
_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_ENDING = re.compile(r"Backward\d*$")
_REDUCTIONS = ("none", "mean", "sum")


@functools.cache
def op_of_node(name: str) -> str:
    """The operation that a node of some class belongs to."""
    known = _NODES.get(name)
    if known is not None:
        return known
    return _WORD.sub("_", _ENDING.sub("", name)).lower()


def custom_name(name: str) -> str:
    """The name of a custom function's node."""
    return name if name.endswith("Backward") else f"{name}Backward"


class Signature:
    """What is known of an operation of ATen: its name, what it writes to, its arguments."""

    def __init__(self, op: Any) -> None:
        schema = op._schema
        base = schema.name.rpartition("::")[2]
        self.is_inplace = base.endswith("_") and not base.startswith("__") and schema.is_mutable
        base = base.removesuffix("_") if self.is_inplace else base
        key = f"{base}.{schema.overload_name or 'default'}"
        self.name = _OVERLOADS.get(key) or _NAMES.get(key) or _NAMES.get(base) or base
        returns = [each.alias_info for each in schema.returns]
        self.is_view = bool(returns) and all(i is not None and not i.is_write for i in returns)
        # Whether it takes nothing of its operand but the shape and the kind of number.
        self.is_new = base.endswith("_like") or base.startswith("new_")
        self.is_reducing = "reduction" in [argument.name for argument in schema.arguments]
        self.is_out = any(a.is_out for a in schema.arguments)
        self.names = [argument.name for argument in schema.arguments]
        self.tensors = [_takes_tensors(argument) for argument in schema.arguments]

    def split(self, args: Any, kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The operands of a call, and its other arguments by their names."""
        operands: list[Any] = []
        params: dict[str, Any] = {}
        for number, value in enumerate(args):
            if self.tensors[number]:
                operands += value if isinstance(value, tuple | list) else [value]
            else:
                params[self.names[number]] = value
        for name, value in kwargs.items():
            if self.tensors[self.names.index(name)]:
                operands += value if isinstance(value, tuple | list) else [value]
            else:
                params[name] = value
        if self.is_reducing:
            params["reduction"] = _REDUCTIONS[params.get("reduction", 1)]  # the mean, if not said
        return tuple(operands), params


def _takes_tensors(argument: Any) -> bool:
    kind = str(argument.type)
    # A number that stands beside a tensor is an operand: `x - 1`.
    return "Tensor" in kind or (kind == "number" and argument.name in ("other", "exponent"))


_SIGNATURES: dict[Any, Signature] = {}


def signature_of(op: Any) -> Signature:
    """What is known of an operation, once for each."""
    known = _SIGNATURES.get(op)
    if known is None:
        known = _SIGNATURES[op] = Signature(op)
    return known


def as_made(records: list[Any]) -> list[Any]:
    """The operations of a call; of `torch.zeros` and its like, which detach what they make, one."""
    if len(records) != 2 or records[1][0] is not torch.ops.aten.detach.default:
        return records
    (op, given, options, _), (*_, result) = records
    if any(isinstance(each, torch.Tensor) for each in given):
        return records
    return [(op, given, options, result)]


def quiet_functions() -> frozenset[Any]:
    """Functions that only look at a tensor."""
    found: set[Any] = set()
    for name in dir(torch.Tensor):
        held = getattr(torch.Tensor, name, None)
        if type(held).__name__ in ("getset_descriptor", "property") and name not in (
            "grad", "data", "requires_grad", "real", "imag", "T", "mT", "H", "mH",
        ):  # fmt: skip
            found.add(held.__get__)  # type: ignore[union-attr]  # a descriptor
            found.add(held.__set__)  # type: ignore[union-attr]  # a descriptor
    found.add(torch.Tensor.requires_grad.__get__)  # type: ignore[attr-defined]  # a descriptor
    for name in (
        "size", "dim", "ndimension", "stride", "numel", "nelement", "is_contiguous", "element_size",
        "is_floating_point", "is_complex", "is_signed", "storage_offset", "data_ptr", "get_device",
        "__len__", "__repr__", "__str__", "__format__", "register_hook", "retain_grad",
        "untyped_storage", "storage", "__hash__", "type", "is_inference", "is_conj", "is_neg",
        "is_shared", "share_memory_", "register_post_accumulate_grad_hook", "__reduce_ex__",
        "is_pinned", "pin_memory", "record_stream", "_is_view", "is_set_to", "dim_order",
    ):  # fmt: skip
        if hasattr(torch.Tensor, name):
            found.add(getattr(torch.Tensor, name))
    for name in ("is_floating_point", "is_complex", "numel", "is_tensor", "is_storage",
                 "result_type", "promote_types", "can_cast", "is_grad_enabled"):  # fmt: skip
        found.add(getattr(torch, name))
    return frozenset(found)
