"""Neural networks: functions, parameters, and modules built of them."""

from clew.nn import attention, functional, grad, init, modules, parallel, parameter, utils
from clew.nn.modules import *  # noqa: F403  (the list of layers is kept in one place)
from clew.nn.parallel import DataParallel
from clew.nn.parameter import (
    Buffer,
    Parameter,
    UninitializedBuffer,
    UninitializedParameter,
)

__all__ = [
    "attention",
    "functional",
    "grad",
    "init",
    "modules",
    "parallel",
    "parameter",
    "utils",
    *modules.__all__,
    "Buffer",
    "DataParallel",
    "Parameter",
    "UninitializedBuffer",
    "UninitializedParameter",
]
