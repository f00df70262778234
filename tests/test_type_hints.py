"""`typing.get_type_hints` resolves the annotations of every public class."""

from __future__ import annotations

import inspect
import typing
from importlib import import_module

import pytest

NAMESPACES = (
    "clew", "clew.amp", "clew.autograd", "clew.distributions", "clew.nn", "clew.nn.attention",
    "clew.nn.parameter", "clew.nn.utils.prune", "clew.nn.utils.rnn", "clew.onnx", "clew.optim",
    "clew.optim.lr_scheduler", "clew.optim.swa_utils", "clew.profiler", "clew.utils.data",
)  # fmt: skip


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_annotations_of_public_classes_resolve(namespace: str) -> None:
    module = import_module(namespace)
    classes = [
        value
        for name, value in inspect.getmembers(module, inspect.isclass)
        if not name.startswith("_") and value.__module__.startswith("clew")
    ]
    assert classes
    for each in classes:
        typing.get_type_hints(each)
        for name in ("__init__", "forward", "__call__"):
            if inspect.isfunction(getattr(each, name, None)):
                typing.get_type_hints(getattr(each, name))
