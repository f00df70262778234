"""`torch.nn.quantized`: operations between tensors as modules, so that observers see them."""

from clew.nn.quantized.functional_modules import FloatFunctional, QFunctional

__all__ = ["FloatFunctional", "QFunctional"]
