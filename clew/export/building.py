"""From the steps of a run to a graph, with what its inputs and outputs are."""

from __future__ import annotations

import itertools
import operator
import re
from typing import Any

from clew._subclasses.fake_tensor import FakeTensorMode
from clew.core.tensor import Tensor
from clew.export.graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
)
from clew.export.recording import Ref, Step
from clew.export.running import Run
from clew.export.sizes import Axis, Expression
from clew.fx.graph import Graph
from clew.fx.naming import result_name
from clew.fx.node import Node, map_aggregate
from clew.nn.modules.module import Module
from clew.ops.aten import packet


class Builder:
    """Makes the graph of a run."""

    def __init__(self, run: Run, root: Module) -> None:
        self.run, self.root = run, root
        self.graph = Graph()
        self.nodes: dict[int, Node] = {}
        self.signature = ExportGraphSignature()
        self.constants: dict[str, Tensor] = {}
        self._expressions: dict[Any, Any] = {}
        self.placeholders: list[Node] = []

    def _placeholder(self, kind: InputKind, name: str, number: int | None, target: Any) -> Node:
        node = self.graph.placeholder(re.sub(r"[^a-zA-Z0-9]", "_", name).lower())
        persistent = None
        if number is not None:
            self.nodes[number] = node
            self._describe(node, self.run.recorder.tensors[number])
        if kind is InputKind.BUFFER:
            *path, last = target.split(".")
            owner = self.root.get_submodule(".".join(path))
            persistent = last not in owner._non_persistent_buffers_set
        arg = TensorArgument(node.name)
        self.signature.input_specs.append(InputSpec(kind, arg, target, persistent))
        return node

    def inputs(self, steps: list[Step], names: list[str]) -> None:
        """Placeholders: parameters, buffers, constants, the user's."""
        for number, (kind, name) in self.run.names.items():
            prefix = "p_" if kind is InputKind.PARAMETER else "b_"
            self._placeholder(kind, prefix + name, number, name)
        made = {leaf.number for step in steps for leaf in _refs(step.output)}
        fresh: list[tuple[int, Node]] = []
        attributes, lifted = self._attributes(), itertools.count()
        for number in self.run.recorder.constants:
            if number not in made:
                tensor = self.run.recorder.tensors[number]
                value = self.run.recorder.constants[number]
                known = attributes.get(id(tensor._array))
                target = known or f"lifted_tensor_{next(lifted)}"
                self.constants[target] = value if known is None else tensor
                node = self._placeholder(InputKind.CONSTANT_TENSOR, f"c_{target}", number, target)
                if known is None:
                    fresh.append((number, node))
        for name, leaf in zip(names, self.run.inputs, strict=True):
            if isinstance(leaf, Ref):
                node = self._placeholder(InputKind.USER_INPUT, name, leaf.number, None)
            else:
                node = self._placeholder(InputKind.USER_INPUT, name, None, None)
                self.signature.input_specs[-1].arg = ConstantArgument(node.name, leaf)
            self.placeholders.append(node)
        # What the program makes anew in each run must not keep what it writes to it.
        for number, node in fresh:
            self.nodes[number] = self.graph.call_function(
                packet("lift_fresh_copy").default, (node,), name="lift_fresh_copy"
            )
            self._describe(self.nodes[number], self.run.recorder.tensors[number])

    def _attributes(self) -> dict[int, str]:
        """The tensors that modules have as plain attributes."""
        found: dict[int, str] = {}
        for path, module in self.root.named_modules():
            for name, value in vars(module).items():
                if isinstance(value, Tensor):
                    found[id(value._array)] = f"{path}.{name}" if path else name
        return found

    def step(self, step: Step) -> None:
        args, kwargs = self._arg(step.args), self._arg(step.kwargs)
        node = self.graph.call_function(step.target, args, kwargs, name=result_name(step.target))
        if step.place:
            node.meta["stack_trace"] = step.place.strip()
        if step.module_stack:
            node.meta["nn_module_stack"] = step.module_stack
        if isinstance(step.output, Ref):
            self.nodes[step.output.number] = node
            self._describe(node, self.run.tensor(step.output))
        else:
            self._parts(node, step.output)

    def _parts(self, node: Node, output: Any) -> None:
        if not isinstance(output, (list, tuple)):
            return
        for place, part in enumerate(output):
            if isinstance(part, (Ref, list, tuple)):
                got = self.graph.call_function(operator.getitem, (node, place))
                if isinstance(part, Ref):
                    self.nodes[part.number] = got
                    self._describe(got, self.run.tensor(part))
                else:
                    self._parts(got, part)

    def output(self, outputs: list[Any]) -> None:
        nodes = self._arg(tuple(outputs))
        self.graph.output(nodes)
        for each in nodes:
            if isinstance(each, Node):
                arg: Any = TensorArgument(each.name)
            else:
                arg = ConstantArgument("", each)
            self.signature.output_specs.append(OutputSpec(OutputKind.USER_OUTPUT, arg))
        for node in reversed(list(self.graph.nodes)):
            if node.target is operator.getitem and not node.users:
                self.graph.erase_node(node)

    def _arg(self, value: Any) -> Any:
        if isinstance(value, Ref):
            return self.nodes[value.number]
        if isinstance(value, Expression):
            return self._expression(value)
        if isinstance(value, slice):
            return slice(*[self._arg(part) for part in (value.start, value.stop, value.step)])
        if isinstance(value, (tuple, list)):
            parts = [self._arg(each) for each in value]
            return parts if isinstance(value, list) else tuple(parts)
        if isinstance(value, dict):
            return {key: self._arg(each) for key, each in value.items()}
        return value

    def _expression(self, value: Expression) -> Node:
        if value in self._expressions:
            found: Node = self._expressions[value]
            return found
        total: Any = None
        for axis in value.axes:
            size = self._size(axis)
            total = size if total is None else self._number(operator.mul, total, size)
        if value.factor != 1:
            total = self._number(operator.mul, total, value.factor)
        if value.divisor != 1:
            total = self._number(operator.floordiv, total, value.divisor)
        if value.offset:
            total = self._number(operator.add, total, value.offset)
        self._expressions[value] = total
        return total

    def _number(self, function: Any, one: Any, two: Any) -> Node:
        return self.graph.call_function(function, (one, two))

    def _size(self, axis: Axis) -> Node:
        found: Node | None = self._expressions.get(axis)
        if found is None:
            source = [node for node, leaf in zip(self.placeholders, self.run.inputs, strict=True)
                      if isinstance(leaf, Ref)][axis.input]  # fmt: skip
            target = getattr(packet("sym_size"), "int")  # noqa: B009  # a name of Python's
            found = self.graph.create_node(
                "call_function", target, (source, axis.dim), {}, "sym_size_int"
            )
            self._expressions[axis] = found
        return found

    def _describe(self, node: Node, tensor: Tensor) -> None:
        node.meta["val"] = FakeTensorMode().from_tensor(tensor)
        node.meta["sizes"] = list(tensor.shape)


def _refs(value: Any) -> list[Ref]:
    found: list[Ref] = []
    map_aggregate(value, lambda leaf: found.append(leaf) if isinstance(leaf, Ref) else None)
    return found
