"""What the inputs and outputs of an exported graph are: parameters, buffers, the user's."""

from __future__ import annotations

import enum
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = [
    "ConstantArgument", "ExportGraphSignature", "InputKind", "InputSpec", "OutputKind",
    "OutputSpec", "TensorArgument",
]  # fmt: skip


@dataclass
class TensorArgument:
    """A tensor, by the name of its node."""

    name: str


@dataclass
class ConstantArgument:
    """A value that is no tensor."""

    name: str
    value: int | float | bool | str | None


class InputKind(enum.Enum):
    """What an input of the graph is."""

    USER_INPUT = enum.auto()
    PARAMETER = enum.auto()
    BUFFER = enum.auto()
    CONSTANT_TENSOR = enum.auto()


class OutputKind(enum.Enum):
    """What an output of the graph is."""

    USER_OUTPUT = enum.auto()


@dataclass
class InputSpec:
    """One input of the graph; `target` is its name in the module."""

    kind: InputKind
    arg: Any
    target: str | None
    persistent: bool | None = None

    def __str__(self) -> str:
        target = "" if self.target is None else f" target='{self.target}'"
        kept = "" if self.persistent is None else f" persistent={self.persistent}"
        return f"{self.arg.name}: {self.kind.name}{target}{kept}"


@dataclass
class OutputSpec:
    """One output of the graph."""

    kind: OutputKind
    arg: Any
    target: str | None = None

    def __str__(self) -> str:
        return f"{self.arg.name}: {self.kind.name}"


@dataclass
class ExportGraphSignature:
    """The inputs and outputs of a graph, in order.

    Example:
        >>> program = clew.export.export(nn.Linear(2, 1), (clew.ones(1, 2),))
        >>> program.graph_signature.parameters
        ('weight', 'bias')
    """

    input_specs: list[InputSpec] = field(default_factory=list)
    output_specs: list[OutputSpec] = field(default_factory=list)

    def _targets(self, kind: InputKind) -> tuple[str, ...]:
        return tuple(each.target for each in self.input_specs if each.kind is kind and each.target)

    def _by_name(self, kind: InputKind) -> dict[str, str]:
        return {s.arg.name: s.target for s in self.input_specs if s.kind is kind and s.target}

    @property
    def parameters(self) -> Collection[str]:
        """The names of parameters in the module."""
        return self._targets(InputKind.PARAMETER)

    @property
    def buffers(self) -> Collection[str]:
        """The names of buffers in the module."""
        return self._targets(InputKind.BUFFER)

    @property
    def non_persistent_buffers(self) -> Collection[str]:
        """The names of buffers that are not in the state dict."""
        return tuple(s.target for s in self.input_specs if s.target and s.persistent is False)

    @property
    def lifted_tensor_constants(self) -> Collection[str]:
        """The names of tensors that are neither."""
        return self._targets(InputKind.CONSTANT_TENSOR)

    @property
    def user_inputs(self) -> Collection[Any]:
        """The names of the user's inputs; of those that are no tensors, their values."""
        specs = [s for s in self.input_specs if s.kind is InputKind.USER_INPUT]
        return tuple(_shown(s.arg) for s in specs)

    @property
    def user_outputs(self) -> Collection[Any]:
        """The names of outputs; of those that are no tensors, their values."""
        return tuple(_shown(s.arg) for s in self.output_specs)

    @property
    def inputs_to_parameters(self) -> Mapping[str, str]:
        """For each input that is a parameter, its name in the module."""
        return self._by_name(InputKind.PARAMETER)

    @property
    def inputs_to_buffers(self) -> Mapping[str, str]:
        """For each input that is a buffer, its name in the module."""
        return self._by_name(InputKind.BUFFER)

    @property
    def inputs_to_lifted_tensor_constants(self) -> Mapping[str, str]:
        """For each input that is a tensor of its own, its name."""
        return self._by_name(InputKind.CONSTANT_TENSOR)

    @property
    def buffers_to_mutate(self) -> Mapping[str, str]:
        """None: writes to buffers are steps of the graph."""
        return {}

    @property
    def user_inputs_to_mutate(self) -> Mapping[str, str]:
        """None: writes to inputs are steps of the graph."""
        return {}

    def __str__(self) -> str:
        inputs = "\n".join(map(str, self.input_specs))
        outputs = "\n".join(map(str, self.output_specs))
        return f"\n# inputs\n{inputs}\n\n# outputs\n{outputs}\n"


def _shown(arg: Any) -> Any:
    return arg.value if isinstance(arg, ConstantArgument) else arg.name
