"""The graph of a model, as TensorBoard shows it: what `torch.export` records of a run."""

from __future__ import annotations

import re
from typing import Any

from clew.export.graph_signature import InputKind
from clew.export.recording import Ref
from clew.export.running import Run
from clew.utils._pytree import tree_leaves
from clew.utils.tensorboard.events import Message


def model_graph(model: Any, args: tuple[Any, ...]) -> Message:
    """The functions that a model calls for an example of its inputs, by its submodules."""
    run = Run(model, args, {})
    root = type(model).__name__
    names: dict[int, str] = {}
    nodes: list[Message] = []
    taken: dict[str, int] = {}

    def node(name: str, op: str, inputs: list[int], number: int | None) -> None:
        count = taken.get(name, 0)
        taken[name] = count + 1
        full = f"{name}_{count}" if count else name
        attributes = []
        if number is not None:
            names[number] = full
            shape = {2: [{1: int(n)} for n in run.recorder.tensors[number].shape]}
            attributes = [{1: "_output_shapes", 2: {1: {7: [shape]}}}]
        sources = list(dict.fromkeys(names[each] for each in inputs if each in names))
        nodes.append({1: full, 2: op, 3: sources, 5: attributes})

    for number, leaf in enumerate(run.inputs):
        if isinstance(leaf, Ref):
            node(f"input/{number}", "IO Node", [], leaf.number)
    for number, (kind, path) in run.names.items():
        op = "Parameter" if kind is InputKind.PARAMETER else "Buffer"
        node(f"{root}/{path.replace('.', '/')}", op, [], number)
    for number in run.recorder.constants:
        node(f"{root}/constant", "Constant", [], number)
    for step in run.recorder.steps:
        path = "/".join([root, *list(step.module_stack)[-1:]]).replace(".", "/")
        name = re.sub(r"\W", "_", step.target._opname)
        op = f"{step.target.namespace}::{step.target._opname}"
        sources = [each.number for each in tree_leaves((step.args, step.kwargs)) if _is_ref(each)]
        results = [each.number for each in tree_leaves(step.output) if _is_ref(each)]
        node(f"{path}/{name}", op, sources, results[0] if results else None)
        names.update({number: names[results[0]] for number in results[1:]})
    for number, leaf in enumerate(run.outputs):
        if isinstance(leaf, Ref):
            node(f"output/{number}", "IO Node", [leaf.number], None)
    return {1: nodes, 4: {1: 22}}


def _is_ref(value: Any) -> bool:
    return isinstance(value, Ref)
