"""Summaries by themselves, for writers that packages keep: `hparams`."""

from __future__ import annotations

from typing import Any

import numpy as np

from clew import errors
from clew.core.tensor import Tensor
from clew.utils.tensorboard import plugins
from clew.utils.tensorboard.events import Message

__all__ = ["hparams"]


def hparams(
    hparam_dict: dict[str, Any] | None = None,
    metric_dict: dict[str, Any] | None = None,
    hparam_domain_discrete: dict[str, list[Any]] | None = None,
) -> tuple[tuple[Message], ...]:
    """The three summaries of an experiment: what it is, how a run of it starts, and that it ends.

    Args:
        hparam_dict: the settings
        metric_dict: the numbers that they lead to
        hparam_domain_discrete: the values that a setting may have
    """
    if not isinstance(hparam_dict or {}, dict):
        raise TypeError(f"parameter: hparam_dict should be a dictionary{errors.at_user_line()}")
    settings = {
        name: value.item() if isinstance(value, (Tensor, np.generic)) else value
        for name, value in (hparam_dict or {}).items()
        if value is not None
    }
    found = plugins.hparams(settings, metric_dict or {}, hparam_domain_discrete)
    return tuple([(each,) for each in found])
