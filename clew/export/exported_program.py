"""ExportedProgram: the graph of a module with its parameters, and what it may be called with."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from clew import errors
from clew.core.tensor import Tensor
from clew.export.graph_signature import ExportGraphSignature, InputKind
from clew.export.printing import readable
from clew.fx.codegen import PyTreeCodeGen, PyTreeInfo
from clew.fx.graph import Graph
from clew.fx.graph_module import GraphModule
from clew.nn.modules.module import Module
from clew.nn.parameter import Parameter
from clew.utils._pytree import TreeSpec, tree_flatten

__all__ = ["ExportedProgram"]

Size = int | str


class Symbol(str):
    """The name of a size that may change."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True)
class ValueRanges:
    """The smallest and the largest value of a size; None is no limit."""

    lower: int
    upper: int | None

    def __repr__(self) -> str:
        return f"VR[{self.lower}, {'int_oo' if self.upper is None else self.upper}]"


@dataclass(frozen=True)
class UserInput:
    """One input: how the program says it, and its sizes; of one that is no tensor, its value."""

    text: str
    sizes: list[Size] | None
    value: Any


class CallSpec(NamedTuple):
    """How the arguments and the result are nested."""

    in_spec: TreeSpec
    out_spec: TreeSpec


class ExportedProgram:
    """A module as a graph, made by `export`; `module()` gives what can be called.

    Example:
        >>> program = clew.export.export(nn.Linear(2, 1), (clew.ones(4, 2),))
        >>> program.module()(clew.ones(4, 2)).shape
        torch.Size([4, 1])
    """

    dialect = "TRAINING"

    def __init__(
        self,
        *,
        root: GraphModule,
        graph_signature: ExportGraphSignature,
        state_dict: dict[str, Tensor],
        constants: dict[str, Tensor],
        range_constraints: dict[Symbol, ValueRanges],
        in_spec: TreeSpec,
        out_spec: TreeSpec,
        inputs: list[UserInput],
        arg_names: list[str],
        example_inputs: Any = None,
    ) -> None:
        self._graph_module = root
        self._graph_signature = graph_signature
        self._state_dict = state_dict
        self._constants = constants
        self._range_constraints = range_constraints
        self._call_spec = CallSpec(in_spec, out_spec)
        self._inputs = inputs
        self._arg_names = arg_names
        self._example_inputs = example_inputs

    # -- parts -----------------------------------------------------------------------------

    @property
    def graph_module(self) -> GraphModule:
        """The graph as a module, whose inputs are parameters, buffers, constants and the user's."""
        return self._graph_module

    @property
    def graph(self) -> Graph:
        """The graph."""
        return self._graph_module.graph

    @property
    def graph_signature(self) -> ExportGraphSignature:
        """What the inputs and outputs of the graph are."""
        return self._graph_signature

    @property
    def state_dict(self) -> dict[str, Tensor]:
        """Parameters and persistent buffers by name."""
        return self._state_dict

    @property
    def constants(self) -> dict[str, Tensor]:
        """Tensors that are neither, and buffers that are not persistent, by name."""
        return self._constants

    tensor_constants = constants

    @property
    def range_constraints(self) -> dict[Symbol, ValueRanges]:
        """The bounds of each size that may change."""
        return self._range_constraints

    @property
    def call_spec(self) -> CallSpec:
        """How the arguments and the result are nested."""
        return self._call_spec

    @property
    def example_inputs(self) -> Any:
        """The arguments that the program was exported with: a tuple and a dict."""
        return self._example_inputs

    def parameters(self) -> Iterator[Parameter]:
        """The parameters."""
        for _, parameter in self.named_parameters():
            yield parameter

    def named_parameters(self) -> Iterator[tuple[str, Parameter]]:
        """The parameters with their names."""
        for name in self._graph_signature.parameters:
            yield name, self._state_dict[name]  # type: ignore[misc]  # parameters are Parameters

    def buffers(self) -> Iterator[Tensor]:
        """The buffers."""
        for _, buffer in self.named_buffers():
            yield buffer

    def named_buffers(self) -> Iterator[tuple[str, Tensor]]:
        """The buffers with their names."""
        for name in self._graph_signature.buffers:
            yield name, self._tensor(name)

    def _tensor(self, name: str) -> Tensor:
        found = self._state_dict.get(name)
        return self._constants[name] if found is None else found

    # -- running ---------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Unable to call ExportedProgram directly. "
            "You should use `exported_program.module()` instead." + errors.at_user_line()
        )

    def module(self, check_guards: bool = True) -> GraphModule:
        """A module that runs the graph, with the parameters and buffers of the program.

        Args:
            check_guards: whether calls check the sizes of inputs
        """
        return _Unlifted(self, check_guards).module

    def run_decompositions(self, decomp_table: Any = None, **options: Any) -> ExportedProgram:
        """A copy: operations stay as they are, each of them can be run.

        Args:
            decomp_table: changes nothing
            options: change nothing
        """
        copied = copy.copy(self)
        copied._graph_module = copy.deepcopy(self._graph_module)
        copied._graph_signature = copy.deepcopy(self._graph_signature)
        return copied

    def validate(self) -> None:
        """Raise if the graph is not well formed."""
        self.graph.lint()

    def __str__(self) -> str:
        code = readable(self._graph_module).replace("\n", "\n    ")
        signature = str(self._graph_signature).replace("\n", "\n    ")
        return (
            f"ExportedProgram:\n    {code}\nGraph signature: {signature}\n"
            f"Range constraints: {self._range_constraints}\n"
        )


# -- the module ------------------------------------------------------------------------------------


class GuardsFn(Module):
    """Checks the sizes of inputs, and the values of those that are no tensors."""

    def __init__(self, inputs: list[UserInput], ranges: dict[Symbol, ValueRanges]) -> None:
        super().__init__()
        self._inputs = inputs
        self._ranges = ranges

    def forward(self, *values: Any) -> None:
        # For each size that may change where it was seen first, and what it is.
        seen: dict[str, tuple[str, int]] = {}
        for value, known in zip(values, self._inputs, strict=True):
            if known.sizes is None:
                if type(value) is not type(known.value) or value != known.value:
                    raise _failed(f"{known.text} == {known.value!r}")
                continue
            if not isinstance(value, Tensor):
                raise _failed(f"isinstance({known.text}, torch.Tensor)")
            if value.dim() != len(known.sizes):
                raise _failed(f"{known.text}.dim() == {len(known.sizes)}")
            for dim, wanted in enumerate(known.sizes):
                place = f"{known.text}.size()[{dim}]"
                self._check(place, value.shape[dim], wanted, seen)

    def _check(self, place: str, size: int, wanted: Size, seen: dict[str, Any]) -> None:
        if isinstance(wanted, int):
            if size != wanted:
                raise _failed(f"{place} == {wanted}")
            return
        factor, name, offset = _parsed(wanted)
        if name in seen:
            first, known = seen[name]
            if size != factor * known + offset:
                raise _failed(_equation(place, first, factor, offset))
            return
        seen[name] = (place, size)
        bounds = self._ranges[Symbol(name)]
        if bounds.lower > 2 and size < bounds.lower:
            raise _failed(f"{place} >= {bounds.lower}")
        if bounds.upper is not None and size > bounds.upper:
            raise _failed(f"{place} <= {bounds.upper}")


def _failed(condition: str) -> AssertionError:
    return AssertionError(f"Guard failed: {condition}" + errors.at_user_line())


def _equation(place: str, first: str, factor: int, offset: int) -> str:
    """One size is another one, or so many times it and so much more."""
    if factor == 1 and not offset:
        return f"{place} == {first}"
    product = first if factor == 1 else f"{factor} * {first}"
    return f"{offset} + {product} == {place}" if offset else f"{product} == {place}"


def _parsed(text: str) -> tuple[int, str, int]:
    """`2*s77 + 1` -> 2, "s77", 1."""
    product, sign, offset = text.partition(" + ")
    if not sign:
        product, sign, offset = text.partition(" - ")
    factor, star, name = product.partition("*")
    number = int(offset or 0) * (-1 if sign == " - " else 1)
    return (int(factor), name, number) if star else (1, factor, number)


class _CheckStructure:
    """A hook that compares how arguments are nested with what the program was exported with."""

    def __init__(self, spec: TreeSpec) -> None:
        self.spec = spec

    def __call__(self, module: Module, args: Any, kwargs: dict[str, Any]) -> None:
        expected = list(self.spec.children()[1].context)
        if list(kwargs) != expected:
            if set(kwargs) != set(expected):
                raise ValueError(
                    "Ran into a kwarg keyword mismatch: Got the following keywords "
                    f"{list(kwargs)} but expected {expected}" + errors.at_user_line()
                )
            kwargs = {name: kwargs[name] for name in expected}
        found = tree_flatten((args, kwargs))[1]
        if found != self.spec:
            raise ValueError(
                "Trying to flatten user inputs with exported input tree spec: \n"
                f"{self.spec}\nbut actually got inputs with tree spec of: \n{found}.\n"
                "Please check that the inputs have the same number and type of args and kwargs as "
                "the ones you used when tracing." + errors.at_user_line()
            )


class _Unlifted:
    """Makes the module of a program: parameters are attributes again."""

    def __init__(self, program: ExportedProgram, check_guards: bool) -> None:
        self.program = program
        self.root = Module()
        self.copies: dict[int, Tensor] = {}
        for spec in program.graph_signature.input_specs:
            if spec.target is not None:
                self._assign(spec.target, program._tensor(spec.target), spec)
        graph = self._graph(check_guards)
        made = GraphModule(self.root, graph, "GraphModule")
        hook = _CheckStructure(program.call_spec.in_spec)
        made.register_forward_pre_hook(hook, with_kwargs=True)
        self.module = made

    def _assign(self, target: str, tensor: Tensor, spec: Any) -> None:
        *path, last = target.split(".")
        owner: Module = self.root
        for name in path:
            if name not in owner._modules:
                owner.add_module(name, Module())
            owner = owner.get_submodule(name)
        if isinstance(tensor, Parameter):
            owner.register_parameter(last, tensor)
        else:
            # Each module has buffers of its own, which runs may write to.
            copied = self.copies.setdefault(id(tensor), tensor.detach().clone())
            persistent = spec.kind is InputKind.BUFFER and spec.persistent
            owner.register_buffer(last, copied, persistent=bool(persistent))

    def _graph(self, check_guards: bool) -> Graph:
        program = self.program
        source = program.graph
        graph = Graph()
        env: dict[Any, Any] = {}
        kinds = dict(zip(source.find_nodes(op="placeholder"),
                         program.graph_signature.input_specs, strict=True))  # fmt: skip
        users = [node for node, spec in kinds.items() if spec.kind is InputKind.USER_INPUT]
        for node in users:
            env[node] = graph.node_copy(node)
        for node, spec in kinds.items():
            if node not in env:
                name = str(spec.target).replace(".", "_")
                env[node] = graph.create_node("get_attr", spec.target, name=name)
                env[node].meta = dict(node.meta)
        if check_guards:
            self.root.add_module("_guards_fn", GuardsFn(program._inputs, program.range_constraints))
            graph.call_module("_guards_fn", tuple(env[node] for node in users))
        result, old = graph.graph_copy(source, env, return_output_node=True)
        graph.output(result).meta = dict(old.meta)
        names = ["self", *program._arg_names]
        graph.set_codegen(PyTreeCodeGen(PyTreeInfo(names, *program.call_spec)))
        return graph
