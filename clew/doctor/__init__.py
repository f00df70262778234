"""The doctor: it watches a run, finds the gradient bug and names the line."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from clew.doctor.observe.session import Session
from clew.doctor.observe.watch import Unhealthy, Watch, watch
from clew.doctor.report.findings import Finding, Report
from clew.doctor.report.graph_view import GraphView

if TYPE_CHECKING:
    from clew.doctor.engines.native_graph import graph

__all__ = ["Finding", "GraphView", "Report", "Session", "Unhealthy", "Watch", "graph", "watch"]


# Callbacks of frameworks, which are imported when they are asked for.
_CALLBACKS = {"LightningCallback": "lightning_callback", "TrainerCallback": "trainer_callback"}


def __getattr__(name: str) -> Any:
    # It is for clew's tensors only: who watches PyTorch does not wait for clew's engine.
    if name == "graph":
        return import_module("clew.doctor.engines.native_graph").graph
    if name in _CALLBACKS:
        made = getattr(import_module("clew.doctor.observe.callbacks"), _CALLBACKS[name])()
        globals()[name] = made
        return made
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
