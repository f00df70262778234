"""Options of `FullyShardedDataParallel`: dtypes, what lies in parts, forms of state dicts."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any


class ShardingStrategy(enum.Enum):
    """Which parts of training lie in parts."""

    FULL_SHARD, SHARD_GRAD_OP, NO_SHARD, HYBRID_SHARD, _HYBRID_SHARD_ZERO2 = range(1, 6)


class BackwardPrefetch(enum.Enum):
    """When parameters are gathered for backward."""

    BACKWARD_PRE, BACKWARD_POST = range(1, 3)


class StateDictType(enum.Enum):
    """The form of a state dict."""

    FULL_STATE_DICT, LOCAL_STATE_DICT, SHARDED_STATE_DICT = range(1, 4)


class OptimStateKeyType(enum.Enum):
    """By what parameters are called in an optimizer's state dict."""

    PARAM_NAME, PARAM_ID = range(1, 3)


@dataclass
class CPUOffload:
    """Whether parameters rest on the CPU."""

    offload_params: bool = False


@dataclass
class MixedPrecision:
    """The data types of parameters, gradients and buffers."""

    param_dtype: Any = None
    reduce_dtype: Any = None
    buffer_dtype: Any = None
    keep_low_precision_grads: bool = False
    cast_forward_inputs: bool = False
    cast_root_forward_inputs: bool = True
    _module_classes_to_ignore: Any = ()


@dataclass
class StateDictConfig:
    """How a state dict is made."""

    offload_to_cpu: bool = False


@dataclass
class FullStateDictConfig(StateDictConfig):
    """How a whole state dict is made."""

    rank0_only: bool = False


class LocalStateDictConfig(StateDictConfig):
    """How a process's own part of a state dict is made."""


@dataclass
class ShardedStateDictConfig(StateDictConfig):
    """How a state dict in parts is made."""

    _use_dtensor: bool = False


@dataclass
class OptimStateDictConfig:
    """How an optimizer's state dict is made."""

    offload_to_cpu: bool = True


@dataclass
class FullOptimStateDictConfig(OptimStateDictConfig):
    """How an optimizer's whole state dict is made."""

    rank0_only: bool = False


class LocalOptimStateDictConfig(OptimStateDictConfig):
    """How a process's own part of an optimizer's state dict is made."""


@dataclass
class ShardedOptimStateDictConfig(OptimStateDictConfig):
    """How an optimizer's state dict in parts is made."""

    _use_dtensor: bool = False


@dataclass
class StateDictSettings:
    """The form of a state dict and how it is made."""

    state_dict_type: StateDictType
    state_dict_config: StateDictConfig
    optim_state_dict_config: OptimStateDictConfig | None = None
