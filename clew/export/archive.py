"""Exported programs in files: a zip of weights in safetensors and the graph as JSON.

Loading runs no code: operations are looked up by name among those of clew, arguments are numbers,
strings, lists and tensors, and classes among the arguments have to be imported already.
"""

from __future__ import annotations

import io
import json
import keyword
import math
import operator
import os
import sys
import zipfile
from typing import Any

import numpy as np

from clew import errors
from clew._subclasses.fake_tensor import FakeTensorMode
from clew.backend import dtypes
from clew.backend.device import device
from clew.backend.layout import MEMORY_FORMATS, layout, memory_format, strided
from clew.core.tensor import Tensor
from clew.export.exported_program import ExportedProgram, Symbol, UserInput, ValueRanges
from clew.export.forms import known_names
from clew.export.graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
)
from clew.fx.graph import Graph
from clew.fx.graph_module import GraphModule
from clew.fx.node import Node
from clew.nn.modules.module import Module
from clew.nn.parameter import Parameter
from clew.ops import aten
from clew.ops import clew as raw
from clew.ops.create.constants import empty
from clew.ops.namespaces import OpOverload, find_packet
from clew.serialization import safetensors
from clew.utils._pytree import (
    TreeSpec,
    is_namedtuple_class,
    tree_flatten,
    treespec_dumps,
    treespec_loads,
)

VERSION = 1
_NUMBERS = {
    f.__name__: f for f in (operator.getitem, operator.mul, operator.add, operator.floordiv)
}
_DTYPES = {str(each): each for each in dtypes.BY_NUMPY.values()}
_FORMATS = {str(each): each for each in MEMORY_FORMATS}


# -- saving ----------------------------------------------------------------------------------------


def save(
    ep: ExportedProgram,
    f: Any,
    *,
    extra_files: dict[str, Any] | None = None,
    opset_version: dict[str, int] | None = None,
    pickle_protocol: int = 2,
) -> None:
    """Write an exported program to a file.

    Args:
        ep: the program
        f: the file, by its path or open for writing
        extra_files: texts to put into the file, by name
        opset_version, pickle_protocol: change nothing: nothing is pickled

    Example:
        >>> import io
        >>> program = clew.export.export(nn.Linear(2, 1), (clew.ones(4, 2),))
        >>> file = io.BytesIO()
        >>> clew.export.save(program, file)
        >>> again = clew.export.load(io.BytesIO(file.getvalue()))
        >>> bool((again.module()(clew.ones(4, 2)) == program.module()(clew.ones(4, 2))).all())
        True
    """
    if not isinstance(ep, ExportedProgram):
        raise TypeError(
            "The 'ep' parameter must be an instance of 'ExportedProgram', got "
            f"'{type(ep).__name__}' instead." + errors.at_user_line()
        )
    tensors = _Tensors()
    document = _document(ep, tensors)
    files = {"graph.json": json.dumps(document, indent=1).encode()}
    files["weights.safetensors"] = tensors.written()
    for name, text in (extra_files or {}).items():
        files[f"extra/{name}"] = text.encode() if isinstance(text, str) else bytes(text)
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data)
    if isinstance(f, (str, os.PathLike)):
        with open(f, "wb") as file:
            file.write(made.getvalue())
    else:
        f.write(made.getvalue())


class _Tensors:
    """The tensors of a program, each written once."""

    def __init__(self) -> None:
        self.values: dict[str, Tensor] = {}
        self.known: dict[int, str] = {}

    def add(self, tensor: Tensor) -> dict[str, Any]:
        name = self.known.get(id(tensor))
        if name is None:
            name = self.known[id(tensor)] = f"tensor_{len(self.values)}"
            self.values[name] = tensor.detach().contiguous().clone()
        kind = "parameter" if isinstance(tensor, Parameter) else "tensor"
        return {"kind": kind, "name": name, "requires_grad": tensor.requires_grad}

    def written(self) -> bytes:
        return safetensors.save(self.values)


def _document(ep: ExportedProgram, tensors: _Tensors) -> dict[str, Any]:
    signature = ep.graph_signature
    return {
        "version": VERSION,
        "producer": "clew",
        "nodes": [_written_node(node) for node in ep.graph.nodes],
        "inputs": [
            {"kind": s.kind.name, "target": s.target, "persistent": s.persistent,
             "name": s.arg.name, "is_constant": isinstance(s.arg, ConstantArgument)}
            for s in signature.input_specs
        ],
        "user_inputs": [
            {"text": u.text, "sizes": u.sizes, "value": _encoded(u.value)} for u in ep._inputs
        ],
        "outputs": [
            {"name": s.arg.name, "value": _encoded(getattr(s.arg, "value", None)),
             "is_constant": isinstance(s.arg, ConstantArgument)}
            for s in signature.output_specs
        ],
        "state_dict": {name: tensors.add(value) for name, value in ep.state_dict.items()},
        "constants": {name: tensors.add(value) for name, value in ep.constants.items()},
        "ranges": {name: [r.lower, r.upper] for name, r in ep.range_constraints.items()},
        "in_spec": treespec_dumps(ep.call_spec.in_spec),
        "out_spec": treespec_dumps(ep.call_spec.out_spec),
        "arg_names": ep._arg_names,
        "example_inputs": [
            tensors.add(leaf) if isinstance(leaf, Tensor) else {"value": _encoded(leaf)}
            for leaf in tree_flatten(ep.example_inputs)[0]
        ],
    }  # fmt: skip


def _written_node(node: Node) -> dict[str, Any]:
    target = node.target
    if isinstance(target, OpOverload):
        target = f"{target.namespace}::{target.__name__}"
    elif callable(target):
        target = f"operator::{target.__name__}"
    written = {"op": node.op, "name": node.name, "target": target, "args": _encoded(node.args),
               "kwargs": _encoded(dict(node.kwargs))}  # fmt: skip
    value = node.meta.get("val")
    if isinstance(value, Tensor):
        written["type"] = {"dtype": str(value.dtype), "shape": list(value.shape),
                           "sizes": node.meta.get("sizes")}  # fmt: skip
    if "stack_trace" in node.meta:
        written["stack_trace"] = node.meta["stack_trace"]
    return written


def _encoded(value: Any) -> Any:
    """An argument as JSON: what JSON has no form for is an object with one key."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": str(value)}
    if isinstance(value, Node):
        return {"node": value.name}
    if isinstance(value, (dtypes.dtype, memory_format, layout, device)):
        return {type(value).__name__: str(value)}
    if isinstance(value, np.dtype):
        return {"numpy": str(dtypes.BY_NUMPY[value])}
    if isinstance(value, list):
        return [_encoded(each) for each in value]
    if isinstance(value, tuple):
        return {"tuple": [_encoded(each) for each in value]}
    if isinstance(value, dict):
        return {"dict": [[_encoded(k), _encoded(v)] for k, v in value.items()]}
    if isinstance(value, slice):
        return {"slice": [_encoded(each) for each in (value.start, value.stop, value.step)]}
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    if value is ...:
        return {"ellipsis": None}
    raise NotImplementedError(
        f"torch.export.save: a value of type {type(value).__name__} has no form in the file"
        + errors.at_user_line()
    )


# -- loading ---------------------------------------------------------------------------------------


def load(
    f: Any,
    *,
    extra_files: dict[str, Any] | None = None,
    expected_opset_version: dict[str, int] | None = None,
) -> ExportedProgram:
    """Read an exported program that `save` has written. No code of the file is run.

    Args:
        f: the file, by its path or open for reading
        extra_files: a dict with the names of texts to read; they become its values
        expected_opset_version: changes nothing

    Example:
        >>> program = clew.export.load("model.pt2")  # doctest: +SKIP
    """
    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as file:
            data = file.read()
    else:
        data = f.read()
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
        document = json.loads(archive.read("graph.json"))
        weights = archive.read("weights.safetensors")
    except (zipfile.BadZipFile, KeyError, ValueError) as error:
        raise _broken("it was not written by clew's `torch.export.save`") from error
    if document.get("version") != VERSION:
        raise _broken(f"it has version {document.get('version')}, and this reads {VERSION}")
    for name in extra_files or ():
        assert extra_files is not None
        extra_files[name] = archive.read(f"extra/{name}").decode()
    try:
        return _Reader(document, weights).program()
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise _broken(f"its graph is damaged ({error})") from error


def _broken(why: str) -> RuntimeError:
    return RuntimeError(
        f"torch.export.load: this file cannot be read: {why}" + errors.at_user_line()
    )


class _Reader:
    """Makes a program of a document."""

    def __init__(self, document: dict[str, Any], weights: bytes) -> None:
        self.document = document
        self.tensors = safetensors.load(weights)
        self.made: dict[tuple[str, str], Tensor] = {}
        self.nodes: dict[str, Node] = {}
        self.graph = Graph()

    def program(self) -> ExportedProgram:
        document = self.document
        for node in document["nodes"]:
            self._node(node)
        in_spec, out_spec = _spec(document["in_spec"]), _spec(document["out_spec"])
        leaves = [
            self._tensor(each) if "kind" in each else self._decoded(each["value"])
            for each in document["example_inputs"]
        ]
        return ExportedProgram(
            root=GraphModule(Module(), self.graph),
            graph_signature=self._signature(),
            state_dict={name: self._tensor(each) for name, each in document["state_dict"].items()},
            constants={name: self._tensor(each) for name, each in document["constants"].items()},
            range_constraints={
                Symbol(n): ValueRanges(*bounds) for n, bounds in document["ranges"].items()
            },
            in_spec=in_spec,
            out_spec=out_spec,
            inputs=self._user_inputs(),
            arg_names=[_identifier(name) for name in document["arg_names"]],
            example_inputs=in_spec.unflatten(leaves),
        )

    def _user_inputs(self) -> list[UserInput]:
        return [
            UserInput(each["text"], each["sizes"], self._decoded(each["value"]))
            for each in self.document["user_inputs"]
        ]

    def _tensor(self, written: dict[str, Any]) -> Tensor:
        key = written["kind"], written["name"]
        if key not in self.made:
            tensor = self.tensors[written["name"]]
            if written["kind"] == "parameter":
                tensor = Parameter(tensor, requires_grad=bool(written["requires_grad"]))
            self.made[key] = tensor
        return self.made[key]

    def _signature(self) -> ExportGraphSignature:
        signature = ExportGraphSignature()
        values = iter(self._user_inputs())
        for each in self.document["inputs"]:
            kind = InputKind[each["kind"]]
            user = next(values) if kind is InputKind.USER_INPUT else None
            arg: Any = TensorArgument(each["name"])
            if each["is_constant"] and user is not None:
                arg = ConstantArgument(each["name"], user.value)
            signature.input_specs.append(InputSpec(kind, arg, each["target"], each["persistent"]))
        for each in self.document["outputs"]:
            arg = TensorArgument(each["name"])
            if each["is_constant"]:
                arg = ConstantArgument(each["name"], self._decoded(each["value"]))
            signature.output_specs.append(OutputSpec(OutputKind.USER_OUTPUT, arg))
        return signature

    def _node(self, written: dict[str, Any]) -> None:
        kind, target = written["op"], written["target"]
        if kind == "call_function":
            target = _operation(target)
        elif kind in ("placeholder", "output"):
            _identifier(target)
        else:
            raise _broken(f"its graph has a step {kind} of {target!r}")
        args, kwargs = self._decoded(written["args"]), self._decoded(written["kwargs"])
        for name in kwargs:
            _identifier(name)
        node = self.graph.create_node(kind, target, args, kwargs, _identifier(written["name"]))
        self.nodes[written["name"]] = node
        if "type" in written:
            self._describe(node, written["type"])
        if "stack_trace" in written:
            node.meta["stack_trace"] = str(written["stack_trace"])

    def _describe(self, node: Node, written: dict[str, Any]) -> None:
        meta = empty(written["shape"], dtype=_named(_DTYPES, written["dtype"]), device="meta")
        node.meta["val"] = FakeTensorMode().from_tensor(meta)
        node.meta["sizes"] = written["sizes"]

    def _decoded(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._decoded(each) for each in value]
        if not isinstance(value, dict):
            return value
        ((kind, inner),) = value.items()
        if kind == "node":
            return self.nodes[inner]
        if kind in ("tuple", "slice"):
            parts = [self._decoded(each) for each in inner]
            return tuple(parts) if kind == "tuple" else slice(*parts)
        if kind == "dict":
            return {self._decoded(k): self._decoded(v) for k, v in inner}
        if kind in _PLAIN:
            return _PLAIN[kind](inner)
        raise _broken(f"an argument of kind {kind!r}")


def _identifier(name: Any) -> str:
    """A name of the file, which becomes a name in generated code."""
    if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name):
        raise _broken(f"{name!r} is no name")
    return name


def _named(known: Any, text: str) -> Any:
    found = known.get(text)
    if found is None:
        raise _broken(f"nothing is called {text!r}")
    return found


_PLAIN: dict[str, Any] = {
    "float": float,
    "complex": lambda parts: complex(*parts),
    "ellipsis": lambda _: ...,
    "dtype": lambda text: _named(_DTYPES, text),
    "numpy": lambda text: _named(_DTYPES, text).np,
    "memory_format": lambda text: _named(_FORMATS, text),
    "layout": lambda text: _named({str(strided): strided}, text),
    "device": device,
}


def _operation(name: str) -> Any:
    library, _, rest = name.partition("::")
    if library == "operator":
        return _named(_NUMBERS, rest)
    stem, _, overload = rest.partition(".")
    if library == "aten":
        if stem not in known_names():
            raise _broken(f"it calls {name!r}, which `export` never writes")
        packet: Any = aten.packet(stem)
    elif library == "clew":
        packet = raw.packet(stem)
    else:
        # An operation that a program defines, and has to define before it loads the file.
        packet = find_packet(library, stem)
    return getattr(packet, overload or "default")


def _spec(text: str) -> TreeSpec:
    """How arguments are nested; classes among them are named tuples that are imported already."""
    _check_classes(json.loads(text)[1])
    return treespec_loads(text)


def _check_classes(written: dict[str, Any]) -> None:
    if written["type"] == "collections.namedtuple":
        module, _, name = json.loads(written["context"]).rpartition(".")
        if not is_namedtuple_class(getattr(sys.modules.get(module), name, None)):
            raise _broken(f"it needs the class {module}.{name}; import its module first")
    if written["type"] == "collections.defaultdict":
        factory = json.loads(written["context"])["default_factory"]
        if factory not in (None, *(f"builtins.{name}" for name in ("list", "dict", "int"))):
            raise _broken(f"it has a defaultdict of {factory}")
    for child in written["children_spec"]:
        _check_classes(child)
