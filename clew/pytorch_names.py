"""Where PyTorch has what clew has: the modules that its classes are in."""

from __future__ import annotations

# Where clew has something in another module than PyTorch: whole modules, and single names.
ELSEWHERE = {
    "torch.autograd.context.FunctionCtx": "torch.autograd.function.FunctionCtx",
    "torch.backend.device.device": "torch.device",
    "torch.backend.dtypes.dtype": "torch.dtype",
    "torch.backend.dtypes.finfo": "torch.finfo",
    "torch.backend.dtypes.iinfo": "torch.iinfo",
    "torch.backend.layout.layout": "torch.layout",
    "torch.backend.layout.memory_format": "torch.memory_format",
    "torch.core.node.Node": "torch.autograd.graph.Node",
    "torch.core.size": "torch",
    "torch.core.tensor.Tensor": "torch.Tensor",
    "torch.distributed.data_parallel.module": "torch.nn.parallel.distributed",
    "torch.fx.codegen.CodeGen": "torch.fx.graph.CodeGen",
    "torch.library.definitions": "torch.library",
    "torch.nn.attention.block_mask": "torch.nn.attention.flex_attention",
    "torch.nn.modules.activation_smooth": "torch.nn.modules.activation",
    "torch.nn.modules.attention": "torch.nn.modules.activation",
    "torch.nn.modules.conv_transpose": "torch.nn.modules.conv",
    "torch.nn.modules.hooks.HookHandle": "torch.utils.hooks.RemovableHandle",
    "torch.nn.modules.hooks._WrappedHook": "torch.nn.modules.module._WrappedHook",
    "torch.nn.modules.loss_classification": "torch.nn.modules.loss",
    "torch.nn.modules.loss_margin": "torch.nn.modules.loss",
    "torch.nn.modules.loss_classification.LinearCrossEntropyOptions":
        "torch.nn.modules.linear_cross_entropy_options.LinearCrossEntropyOptions",
    "torch.nn.modules.parameter_container": "torch.nn.modules.container",
    "torch.nn.modules.pooling_adaptive": "torch.nn.modules.pooling",
    "torch.nn.modules.pooling_max": "torch.nn.modules.pooling",
    "torch.nn.modules.rnn_cells": "torch.nn.modules.rnn",
    "torch.nn.modules.transformer_layers": "torch.nn.modules.transformer",
    "torch.ops.create.random.Generator": "torch._C.Generator",
    "torch.ops.tensor.typed_storage": "torch.storage",
    "torch.ops.tensor.untyped_storage": "torch.storage",
    "torch.optim._adafactor": "torch.optim",
    "torch.optim._muon": "torch.optim",
    "torch.serialization.options": "torch.serialization",
    "torch.utils.selective_checkpoint": "torch.utils.checkpoint",
    "torch.nn.utils.prune_methods": "torch.nn.utils.prune",
    "torch.cuda.amp": "torch.cuda.amp.grad_scaler",
    "torch.cuda.amp.autocast": "torch.cuda.amp.autocast_mode.autocast",
    "torch.ops.define.return_types": "torch.return_types",
    "torch.utils.data.datapipes.datapipe.functional_datapipe":
        "torch.utils.data.datapipes._decorator.functional_datapipe",
}  # fmt: skip
# Parts of clew that PyTorch does not have. What is in them has a name of PyTorch's if it has one
# above.
_OWN_PARTS = frozenset({
    "aliasing", "backend", "bench", "cli", "collector", "compiler", "core", "doctor", "errors",
    "forking", "gallery", "interrupts", "kernels", "memory", "moved", "observed", "observer", "ops",
    "overloads", "pytorch_names", "settings", "source", "standin",
})  # fmt: skip
_WHOLE_MODULES = ("torch.optim.lr_scheduler", "torch.distributions.transforms")


def full_name(module: str, name: str) -> str:
    """PyTorch's dotted name of what `name` is in one of clew's modules."""
    module = "torch" + module.removeprefix("clew")
    single = ELSEWHERE.get(f"{module}.{name}")
    if single is not None:
        return single
    for whole in _WHOLE_MODULES:
        if module.startswith(whole + "."):
            return f"{whole}.{name}"
    return f"{ELSEWHERE.get(module, module)}.{name}"


def home(module: str, name: str) -> str | None:
    """The module that PyTorch has a class of clew's in; None if it is a part of clew's own."""
    same = f"torch{module.removeprefix('clew')}"
    full = f"{same}.{name}" if name.startswith("_") else full_name(module, name)
    if not full.endswith(f".{name}"):
        return None
    place = full.removesuffix(f".{name}")
    part = same.partition(".")[2].partition(".")[0]
    return None if place == same and part in _OWN_PARTS else place
