"""`pipeline`: a model is traced once with a micro-batch, and its graph is cut into stages."""

from __future__ import annotations

import enum
import inspect
import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from clew import errors
from clew.core.state import local
from clew.distributed.pipelining.stage import PipelineStage
from clew.fx import Graph, GraphModule, Node, Proxy, Tracer
from clew.fx.node import map_arg
from clew.nn.modules.module import Module
from clew.random import fork_rng

__all__ = ["Pipe", "SplitPoint", "pipe_split", "pipeline"]


class SplitPoint(enum.Enum):
    """Where `pipeline` cuts a model: before or after a module."""

    BEGINNING, END = range(1, 3)


# The tracers that are at work.
_tracers: list[_Tracer] = []


def pipe_split() -> None:
    """Marks a cut for `pipeline` in a forward; otherwise it does nothing."""
    if _tracers and not _tracers[-1].is_computing:
        _tracers[-1].create_node("call_function", pipe_split, (), {})


class Pipe(Module):
    """A model in stages, which `pipeline` makes.

    Args:
        stages: a module for each; the outputs of one are the inputs of the next

    Example:
        >>> from clew.distributed.pipelining import SplitPoint, pipeline
        >>> model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
        >>> pipe = pipeline(model, (clew.ones(4, 2),), split_spec={"2": SplitPoint.BEGINNING})
        >>> pipe.num_stages, list(pipe.get_stage_module(1).state_dict())
        (2, ['2.weight', '2.bias'])
        >>> pipe(clew.ones(4, 2)).shape
        clew.Size([4, 1])
    """

    def __init__(self, stages: list[GraphModule]) -> None:
        super().__init__()
        self.num_stages = len(stages)
        self.split_gm = Module()
        for number, stage in enumerate(stages):
            self.split_gm.add_module(f"submod_{number}", stage)

    def get_stage_module(self, stage_idx: int) -> Module:
        """The module of a stage.

        Args:
            stage_idx: which one
        """
        if not 0 <= stage_idx < self.num_stages:
            raise ValueError(f"Invalid stage index {stage_idx}!" + errors.at_user_line())
        return self.split_gm.get_submodule(f"submod_{stage_idx}")

    def build_stage(self, stage_index: int, device: Any = None, group: Any = None) -> PipelineStage:
        """A stage for a schedule, on the rank that runs it.

        Args:
            stage_index: which one
            device: accepted; there is one device
            group: the ranks; None is all of them
        """
        module = self.get_stage_module(stage_index)
        return PipelineStage(module, stage_index, self.num_stages, device, group=group)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run all stages, one after the other."""
        result = self.get_stage_module(0)(*args, **kwargs)
        for number in range(1, self.num_stages):
            given = result if isinstance(result, tuple) else (result,)
            result = self.get_stage_module(number)(*given)
        return result


def pipeline(
    module: Module,
    mb_args: tuple[Any, ...],
    mb_kwargs: dict[str, Any] | None = None,
    split_spec: dict[str, SplitPoint] | None = None,
    split_policy: Callable[[GraphModule], GraphModule] | None = None,
) -> Pipe:
    """Cut a model into stages: at modules, or where its forward calls `pipe_split()`.

    The forward runs once, with stand-ins: which way it goes, and the sizes that it reads, are those
    of the micro-batch. Modules that no cut is in stay as they are.

    Args:
        module: the model
        mb_args, mb_kwargs: a micro-batch
        split_spec: names of modules, and whether the cut is before or after each
        split_policy: instead, a function that puts calls of `pipe_split` into the traced model
    """
    if split_spec is not None and split_policy is not None:
        raise ValueError(
            "Cannot specify both `split_spec` and `split_policy`. Please use only one of them."
            + errors.at_user_line()
        )
    before = set(vars(module))
    tracer = _Tracer(module, mb_args, mb_kwargs or {}, split_spec or {}, split_policy is not None)
    try:
        graph = tracer.run()
        if split_policy is not None:
            graph = split_policy(GraphModule(module, graph)).graph
        stages = _Cut(module, graph, split_spec or {}).stages()
    finally:
        constants = set(vars(module)) - before
        for name in constants:
            delattr(module, name)
    for stage in stages:
        for name in constants & dict(stage.named_buffers()).keys():
            # What the forward makes itself is no part of the model's state.
            stage.register_buffer(name, getattr(stage, name), persistent=False)
    return Pipe(stages)


# -- the graph -------------------------------------------------------------------------------------

# What is asked of a tensor and is known from an example of it.
_FACTS = frozenset({
    "shape", "size", "dim", "ndim", "numel", "nelement", "dtype", "device", "layout", "itemsize",
    "element_size", "is_cuda", "is_meta", "is_floating_point", "is_complex",
})  # fmt: skip


class _StandIn(Proxy):
    """A proxy whose facts are those of an example."""

    tracer: _Tracer

    def __getattr__(self, k: str) -> Any:
        if k in _FACTS:
            return getattr(self.tracer.value(self.node), k)
        return super().__getattr__(k)

    def __len__(self) -> int:
        return len(self.tracer.value(self.node))


class _Tracer(Tracer):
    """Goes into the modules that cuts are in, and knows an example of each value."""

    def __init__(
        self,
        module: Module,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        spec: dict[str, SplitPoint],
        into_all: bool,
    ) -> None:
        super().__init__()
        self._module, self._spec, self._into_all = module, spec, into_all or not spec
        bound = inspect.signature(module.forward).bind(*args, **kwargs)
        self._given = dict(bound.arguments)
        bound.apply_defaults()
        self._defaults = {k: v for k, v in bound.arguments.items() if k not in self._given}
        self._values: dict[Node, Any] = {}
        self.is_computing = False

    def run(self) -> Graph:
        """The graph of the model's forward."""
        _tracers.append(self)
        try:
            return self.trace(self._module, self._defaults)
        finally:
            _tracers.pop()

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Whether calls of a module are one step: no cut is inside."""
        if self._into_all:
            return super().is_leaf_module(m, module_qualified_name)
        return not any(name.startswith(f"{module_qualified_name}.") for name in self._spec)

    def call_module(
        self,
        m: Module,
        forward: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        """A step, but for examples."""
        if self.is_computing:
            return forward(*args, **kwargs)
        return super().call_module(m, forward, args, kwargs)

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        """A proxy for parameters, but for examples."""
        if self.is_computing:
            return attr_val
        return super().getattr(attr, attr_val, parameter_proxy_cache)

    def proxy(self, node: Node) -> Proxy:
        """A proxy that knows an example."""
        return _StandIn(node, self)

    def to_bool(self, obj: Proxy) -> bool:
        """Which way the micro-batch goes."""
        return bool(self.value(obj.node))

    def iter(self, obj: Proxy) -> Any:
        """As many as the micro-batch has."""
        return iter([obj[place] for place in range(len(self.value(obj.node)))])

    def value(self, wanted: Node) -> Any:
        """What a node is for the micro-batch; all before it are computed, too."""
        before, local.state.grad_enabled = local.state.grad_enabled, False
        self.is_computing = True
        try:
            with fork_rng():
                for node in self.graph.nodes:
                    if wanted in self._values:
                        break
                    if node not in self._values:
                        self._values[node] = self._computed(node)
        finally:
            self.is_computing = False
            local.state.grad_enabled = before
        return self._values[wanted]

    def _computed(self, node: Node) -> Any:
        args = map_arg(node.args, self._values.__getitem__)
        kwargs = map_arg(node.kwargs, self._values.__getitem__)
        if node.op == "placeholder":
            name = str(node.target)
            return self._given.get(name.lstrip("*"), self._defaults.get(name.rpartition("_")[0]))
        if node.op == "get_attr":
            return operator.attrgetter(str(node.target))(self.root)
        if node.op == "call_module":
            with _evaluating(self.root.get_submodule(str(node.target))) as module:
                return module(*args, **kwargs)
        if node.op == "call_method":
            return getattr(args[0], str(node.target))(*args[1:], **kwargs)
        assert callable(node.target)
        return node.target(*args, **kwargs)


@contextmanager
def _evaluating(module: Module) -> Iterator[Module]:
    """A module that leaves its running averages alone."""
    training = [each for each in module.modules() if each.training]
    module.eval()
    try:
        yield module
    finally:
        for each in training:
            each.training = True


# -- the stages ------------------------------------------------------------------------------------


class _Cut:
    """Cuts a graph: which node is in which stage, and what stages hand on."""

    def __init__(self, root: Module, graph: Graph, spec: dict[str, SplitPoint]) -> None:
        self._root = root
        self._nodes = list(graph.nodes)
        self._stage: dict[Node, int] = {}
        before, after = self._bounds(spec)
        number = 0
        for node in self._nodes:
            number += before.count(node) + (node.target is pipe_split)
            self._stage[node] = 0 if node.op == "placeholder" else number
            number += after.count(node)
        self._count = number + 1
        for node in self._nodes:
            if node.target is operator.getitem and isinstance(node.args[0], Node):
                # A part of a tuple is taken where the tuple is: stages exchange tensors.
                self._stage[node] = self._stage[node.args[0]]
        # The last stage in which a value is needed.
        self._last = {
            node: max([self._stage[node], *(self._stage[user] for user in node.users)])
            for node in self._nodes
        }

    def _bounds(self, spec: dict[str, SplitPoint]) -> tuple[list[Node], list[Node]]:
        """The nodes before which, and after which, the graph is cut."""
        before, after = [], []
        for name, point in spec.items():
            inside = [n for n in self._nodes if name in n.meta.get("nn_module_stack", ())]
            if not inside:
                raise ValueError(
                    f"pipeline: split_spec names {name!r}, and the forward calls no such module"
                    + errors.at_user_line()
                )
            if point is SplitPoint.BEGINNING:
                before.append(inside[0])
            else:
                after.append(inside[-1])
        return before, after

    def stages(self) -> list[GraphModule]:
        """A module for each stage."""
        return [self._module(number) for number in range(self._count)]

    def _handed_on(self, stage: int) -> list[Node]:
        """What a stage gives to the next: also what only a later one needs."""
        found = [
            node
            for node in self._nodes
            if node.op != "get_attr" and self._stage[node] <= stage < self._last[node]
        ]
        if not found:
            raise ValueError(
                f"pipeline: stage {stage + 1} needs nothing of stage {stage}: their order is no "
                "chain" + errors.at_user_line()
            )
        return found

    def _module(self, number: int) -> GraphModule:
        graph = Graph()
        there: dict[Node, Node] = {}
        if number:
            for node in self._handed_on(number - 1):
                there[node] = graph.placeholder(node.name)

        def place(node: Node) -> Node:
            if node.op == "get_attr" and node not in there:
                there[node] = graph.node_copy(node)
            return there[node]

        for node in self._nodes:
            is_here = self._stage[node] == number and node.target is not pipe_split
            if is_here and node.op not in ("get_attr", "output"):
                map_arg((node.args, node.kwargs), place)
                there[node] = graph.node_copy(node, place)
        if number < self._count - 1:
            given = [there[node] for node in self._handed_on(number)]
            graph.output(given[0] if len(given) == 1 else tuple(given))
        else:
            graph.output(map_arg(self._nodes[-1].args[0], place))
        return GraphModule(self._root, graph, f"submod_{number}")
