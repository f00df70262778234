"""Quantization: observers, rounding while a model trains, and models with rounded weights.

There are no quantized tensors or kernels: rounded numbers are floating-point numbers.
"""

# ruff: noqa: F401, F403  (names are imported here to be found here)

from clew.ao.quantization import fake_quantize, observer, qconfig
from clew.ao.quantization.fake_quantize import *
from clew.ao.quantization.fuse_modules import fuse_modules, fuse_modules_qat
from clew.ao.quantization.observer import *
from clew.ao.quantization.qconfig import *
from clew.ao.quantization.quantize import *
from clew.ao.quantization.stubs import DeQuantStub, QuantStub, QuantWrapper
