"""`prepare`, `prepare_qat` and `convert`: a model with observers, and with rounded weights.

clew has no quantized tensors: a converted model computes in floating point over numbers that lie on
the grids which were chosen, so that its results are those of quantization up to rounding.
"""

from __future__ import annotations

import copy
from typing import Any

from clew.ao.quantization.fake_quantize import FakeQuantize
from clew.ao.quantization.functions import (
    fake_quantize_per_channel_affine,
    fake_quantize_per_tensor_affine,
)
from clew.ao.quantization.observer import per_channel_affine, per_channel_symmetric
from clew.ao.quantization.qconfig import QConfig
from clew.ao.quantization.stubs import DeQuantStub, QuantStub
from clew.core.tensor import Tensor
from clew.nn.modules.conv import Conv1d, Conv2d, Conv3d
from clew.nn.modules.linear import Linear
from clew.nn.modules.module import Module
from clew.nn.quantized import FloatFunctional
from clew.ops.nn.linear import linear

__all__ = [
    "Quantized", "convert", "prepare", "prepare_qat", "propagate_qconfig_", "quantize",
    "quantize_dynamic", "quantize_qat", "swap_module",
]  # fmt: skip

_WEIGHTED = (Linear, Conv1d, Conv2d, Conv3d)
_OBSERVED = (*_WEIGHTED, QuantStub, FloatFunctional)


def propagate_qconfig_(module: Module, qconfig_dict: Any = None) -> None:
    """Give every part of a model the configuration of what it is part of."""

    def spread(part: Module, inherited: Any) -> None:
        own = part.__dict__.get("qconfig", inherited)
        part.qconfig = own
        for child in part.children():
            spread(child, own)

    spread(module, getattr(module, "qconfig", None))


def _observed(model: Module) -> list[Module]:
    return [
        part
        for part in model.modules()
        if isinstance(part, _OBSERVED)
        and not isinstance(part, DeQuantStub)
        and getattr(part, "qconfig", None) is not None
    ]


def _observe(part: Module) -> None:
    """Let an observer see, and change, what a module returns."""
    part.add_module("activation_post_process", part.qconfig.activation())
    if not isinstance(part, FloatFunctional):
        part.register_forward_hook(_after)


def _after(part: Module, args: Any, output: Any) -> Any:
    return part.activation_post_process(output)


def prepare(
    model: Module,
    inplace: bool = False,
    allow_list: Any = None,
    observer_non_leaf_module_list: Any = None,
    prepare_custom_config_dict: Any = None,
) -> Module:
    """A model whose layers have observers: run it on examples, then `convert` it.

    Args:
        model: the model, with a `qconfig`
        inplace: whether the model itself is changed
        allow_list, observer_non_leaf_module_list, prepare_custom_config_dict: accepted
    """
    model = model if inplace else copy.deepcopy(model)
    propagate_qconfig_(model)
    for part in _observed(model):
        _observe(part)
    return model


class _QatLinear(Linear):
    """A linear layer that rounds its weight at each call."""

    weight_fake_quant: FakeQuantize

    def forward(self, input: Tensor) -> Tensor:
        return linear(input, self.weight_fake_quant(self.weight), self.bias)


class _QatConv1d(Conv1d):
    """A convolution that rounds its weight at each call."""

    weight_fake_quant: FakeQuantize

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight_fake_quant(self.weight), self.bias)


class _QatConv2d(Conv2d):
    """A convolution that rounds its weight at each call."""

    weight_fake_quant: FakeQuantize
    forward = _QatConv1d.forward


class _QatConv3d(Conv3d):
    """A convolution that rounds its weight at each call."""

    weight_fake_quant: FakeQuantize
    forward = _QatConv1d.forward


_QAT: dict[type, type] = {
    Linear: _QatLinear,
    Conv1d: _QatConv1d,
    Conv2d: _QatConv2d,
    Conv3d: _QatConv3d,
}
for _plain, _qat in _QAT.items():
    # They print as the layers that they are.
    _qat.__name__ = _qat.__qualname__ = _plain.__name__
_PLAIN = {qat: plain for plain, qat in _QAT.items()}


def prepare_qat(model: Module, mapping: Any = None, inplace: bool = False) -> Module:
    """A model that rounds weights and activations while it trains.

    Args:
        model: the model, in training mode and with a `qconfig`
        mapping: accepted
        inplace: whether the model itself is changed
    """
    if not model.training:
        raise AssertionError("prepare_qat only works on models in training mode")
    model = model if inplace else copy.deepcopy(model)
    propagate_qconfig_(model)
    for part in _observed(model):
        if isinstance(part, _WEIGHTED):
            if type(part) not in _QAT:
                raise NotImplementedError(f"prepare_qat: {type(part)} is not a layer of torch.nn")
            part.__class__ = _QAT[type(part)]
            part.add_module("weight_fake_quant", part.qconfig.weight())
        _observe(part)
    return model


class Quantized(Module):
    """A layer with rounded weights, whose results are rounded: what `convert` makes of one.

    Args:
        module: the layer
        observer: the observer of its results
    """

    scale: Tensor
    zero_point: Tensor

    def __init__(self, module: Module, observer: Any) -> None:
        super().__init__()
        self.module = module
        scale, zero_point = observer.calculate_qparams()
        self.register_buffer("scale", scale)
        self.register_buffer("zero_point", zero_point)
        self.quant_min, self.quant_max = observer.quant_min, observer.quant_max

    def forward(self, *args: Any, **kwargs: Any) -> Tensor:
        return fake_quantize_per_tensor_affine(
            self.module(*args, **kwargs),
            self.scale,
            self.zero_point,
            self.quant_min,
            self.quant_max,
        )

    def extra_repr(self) -> str:
        return f"scale={self.scale.item()}, zero_point={self.zero_point.item()}"


def _round_weight(part: Any, qconfig: QConfig) -> None:
    """Round a layer's weight as its observer says, for good."""
    for parameter in part.parameters():
        parameter.requires_grad_(False)
    if type(part) in _PLAIN:
        rounding = part._modules.pop("weight_fake_quant")
        rounding.disable_observer()
        part.weight.copy_(rounding(part.weight))
        part.__class__ = _PLAIN[type(part)]
        return
    observer = qconfig.weight()
    observer(part.weight)
    scale, zero_point = observer.calculate_qparams()
    steps = (observer.quant_min, observer.quant_max)
    weight = part.weight.detach()
    if observer.qscheme in (per_channel_affine, per_channel_symmetric):
        rounded = fake_quantize_per_channel_affine(
            weight, scale, zero_point, observer.ch_axis, *steps
        )
    else:
        rounded = fake_quantize_per_tensor_affine(weight, scale, zero_point, *steps)
    part.weight.copy_(rounded)


def _converted(part: Module) -> Module:
    observer = part._modules.pop("activation_post_process")
    part._forward_hooks = type(part._forward_hooks)(
        (key, hook) for key, hook in part._forward_hooks.items() if hook is not _after
    )
    if isinstance(part, _WEIGHTED):
        _round_weight(part, part.qconfig)
    if isinstance(part, FloatFunctional):
        part.activation_post_process = Quantized(Module(), observer)
        part.activation_post_process.module = QuantStub()
        return part
    return Quantized(part, observer)


def convert(
    module: Module,
    mapping: Any = None,
    inplace: bool = False,
    remove_qconfig: bool = True,
    is_reference: bool = False,
    convert_custom_config_dict: Any = None,
    use_precomputed_fake_quant: bool = False,
) -> Module:
    """A prepared model with rounded weights and activations, which are floating-point numbers.

    Args:
        module: what `prepare` or `prepare_qat` returned
        mapping: accepted
        inplace: whether the model itself is changed
        remove_qconfig: whether the configurations are taken away
        is_reference, convert_custom_config_dict, use_precomputed_fake_quant: accepted
    """
    model = module if inplace else copy.deepcopy(module)
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, _OBSERVED) and "activation_post_process" in child._modules:
                setattr(parent, name, _converted(child))
    if isinstance(model, _OBSERVED) and "activation_post_process" in model._modules:
        model = _converted(model)
    if remove_qconfig:
        for part in model.modules():
            part.__dict__.pop("qconfig", None)
    return model


def swap_module(mod: Module, mapping: Any, custom_module_class_mapping: Any = None) -> Module:
    """One prepared layer, converted; any other module as it is."""
    has_observer = isinstance(mod, _OBSERVED) and "activation_post_process" in mod._modules
    return _converted(mod) if has_observer else mod


def quantize(
    model: Module, run_fn: Any, run_args: Any, mapping: Any = None, inplace: bool = False
) -> Module:
    """`prepare`, run on examples, `convert`."""
    model = prepare(model.eval(), inplace)
    run_fn(model, *run_args)
    return convert(model, inplace=True)


def quantize_qat(model: Module, run_fn: Any, run_args: Any, inplace: bool = False) -> Module:
    """`prepare_qat`, train, `convert`."""
    model = prepare_qat(model.train(), inplace=inplace)
    run_fn(model, *run_args)
    return convert(model, inplace=True)


def quantize_dynamic(model: Module, *args: Any, **kwargs: Any) -> Module:
    """Raises: there are no quantized kernels that would choose a scale at each call."""
    raise NotImplementedError(
        "quantize_dynamic: clew has no quantized kernels. prepare and convert round weights and "
        "activations with scales that are chosen before."
    )
