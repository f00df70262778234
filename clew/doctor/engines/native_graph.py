"""The graph behind clew's tensors, to look at."""

from __future__ import annotations

import gc
from collections.abc import Iterable

from clew.core.node import edge_of
from clew.core.tensor import Tensor
from clew.doctor.report.graph_view import GraphView, snapshot
from clew.nn.modules.module import Module


def graph(tensors: Tensor | Iterable[Tensor], model: Module | None = None) -> GraphView:
    """The graph that backward from these tensors would walk.

    Parameters are called by their names in `model`, or in whatever modules there are.
    """
    roots = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    edges = [edge_of(root)[0] for root in roots if root.requires_grad]
    if not edges:
        raise RuntimeError(
            "this tensor has no graph: it does not require grad\n"
            "  clew.why_no_grad(tensor) says why."
        )
    return snapshot(edges, parameter_names([model] if model is not None else None))


def parameter_names(models: list[Module] | None = None) -> dict[int, str]:
    """The longest dotted name of each live parameter, by identity."""
    if models is None:
        # By the type alone: isinstance asks objects for their class, and a lazy one then begins.
        models = [each for each in gc.get_objects() if issubclass(type(each), Module)]
    names: dict[int, str] = {}
    for model in models:
        for name, parameter in model.named_parameters():
            if len(name) > len(names.get(id(parameter), "")):
                names[id(parameter)] = name
    return names
