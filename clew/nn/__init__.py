"""Neural networks: functions, parameters, and modules built of them."""

from clew.nn import functional, init, modules, parameter, utils
from clew.nn.modules import *  # noqa: F403  (the list of layers is kept in one place)
from clew.nn.parameter import (
    Buffer,
    Parameter,
    UninitializedBuffer,
    UninitializedParameter,
)

__all__ = [
    "functional",
    "init",
    "modules",
    "parameter",
    "utils",
    *modules.__all__,
    "Buffer",
    "Parameter",
    "UninitializedBuffer",
    "UninitializedParameter",
]
