"""From a model and an example of its inputs to an ONNX model."""

from __future__ import annotations

import inspect
import os
import warnings
from typing import Any

import numpy as np

from clew import errors, version
from clew.autograd.grad_mode import no_grad
from clew.backend import dtypes
from clew.core.tensor import Tensor, wrap
from clew.export.sizes import Axis, Expression, Unexplained, explain_all, resized, sizes_of_runs
from clew.onnx.graph import ELEMENT, GraphWriter
from clew.onnx.tape import Call, Tape, Value
from clew.onnx.writers import COMPLEX, WRITERS
from clew.source import user_stacklevel
from clew.utils._pytree import tree_flatten

OPSET = 18
IR_VERSION = 10


class OnnxExporterError(RuntimeError):
    """What an export raises: for `except`.

    Example:
        >>> issubclass(clew.onnx.OnnxExporterError, RuntimeError)
        True
    """


def need_onnx() -> Any:
    """The package that writes the files."""
    try:
        import onnx
    except ImportError as error:
        raise OnnxExporterError(
            "torch.onnx.export needs the package onnx, which is not installed: pip install "
            "'clew[onnx]'" + errors.at_user_line()
        ) from error
    return onnx


# -- running ---------------------------------------------------------------------------------------


class Run:
    """One forward pass with its tape, inputs and outputs."""

    def __init__(self, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        leaves, _ = tree_flatten((args, kwargs))
        self.inputs = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
        with no_grad(), Tape() as tape:
            for each in self.inputs:
                tape.value(each)
            result = model(*args, **kwargs)
            outputs, _ = tree_flatten(result)
            self.outputs = [tape.value(each) for each in outputs if isinstance(each, Tensor)]
        self.tape = tape


def merged_calls(runs: list[Run], axes: tuple[Axis, ...]) -> list[Call]:
    """The operations of a run, with sizes that change between the runs as expressions."""
    if len(runs) == 1:
        return runs[0].tape.calls
    names = [[call.name for call in run.tape.calls] for run in runs]
    if any(each != names[0] for each in names):
        raise Unexplained("the model computes other operations for other sizes")
    calls = []
    for same in zip(*(run.tape.calls for run in runs), strict=True):
        one = same[0]
        params = {}
        for key in one.params:
            values = [call.params[key] for call in same]
            try:
                is_view = one.name in ("view", "_unsafe_view") and key == "shape"
                params[key] = (_reshaped if is_view else explain_all)(values, axes)
            except Unexplained as reason:
                raise Unexplained(f"`{key}` of {one.name} is {reason}") from None
        inputs = tuple(
            explain_all(each, axes) for each in zip(*(call.inputs for call in same), strict=True)
        )
        calls.append(Call(one.name, inputs, params, one.outputs))
    return calls


def _reshaped(shapes: Any, axes: tuple[Axis, ...]) -> list[Any]:
    """A new shape, of which one size may be what is left."""
    found: list[Any] = []
    for sizes in zip(*shapes, strict=True):
        try:
            found.append(explain_all(sizes, axes))
        except Unexplained:
            if -1 in found:
                raise
            found.append(-1)
    # ONNX takes a size of nothing beside one that is left for a mistake.
    if -1 in found and 0 in found:
        raise Unexplained("a shape with a size of nothing")
    return found


# -- dynamic sizes ---------------------------------------------------------------------------------


def axes_of(wanted: dict[tuple[int, int], str], inputs: list[Tensor]) -> tuple[Axis, ...]:
    """The dimensions that may change, with sizes for three runs."""
    steps: dict[str, int] = {}
    found = []
    for (number, dim), name in wanted.items():
        step = steps.setdefault(name, len(steps) + 1)
        found.append(Axis(name, number, dim, sizes_of_runs(inputs[number]._array.shape[dim], step)))
    return tuple(found)


def all_runs(
    model: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    wanted: dict[tuple[int, int], str],
    inputs: list[Tensor],
) -> tuple[tuple[Axis, ...], list[Run]]:
    """The run with the example, and two with other sizes where some may change.

    A model that takes no sizes close to the example's, since it halves an image more than once,
    say, takes multiples of them.
    """
    axes = axes_of(wanted, inputs)
    if not axes:
        return axes, [Run(model, args, kwargs)]

    def run(axes: tuple[Axis, ...], number: int) -> Run:
        return Run(model, *resized((args, kwargs), inputs, axes, number))

    one = run(axes, 0)
    try:
        return axes, [one, run(axes, 1), run(axes, 2)]
    except (RuntimeError, ValueError, IndexError):
        axes = tuple(_multiples(axis, axes) for axis in axes)
        return axes, [one, run(axes, 1), run(axes, 2)]


def _multiples(axis: Axis, axes: tuple[Axis, ...]) -> Axis:
    """A dimension with multiples of its size, other ones for each name."""
    names = list(dict.fromkeys(each.name for each in axes))
    factor = 2 + names.index(axis.name)
    size = axis.sizes[0]
    return Axis(axis.name, axis.input, axis.dim, (size, factor * size, (2 * factor - 1) * size))


def from_dynamic_axes(dynamic_axes: Any, names: list[str]) -> dict[tuple[int, int], str]:
    """`dynamic_axes` of the older call: by the names of inputs."""
    wanted: dict[tuple[int, int], str] = {}
    for name, dims in (dynamic_axes or {}).items():
        if name in names:
            named = (
                dims if isinstance(dims, dict) else {d: f"{name}_dynamic_axes_{d}" for d in dims}
            )
            for dim, label in named.items():
                wanted[names.index(name), dim] = str(label)
    return wanted


def from_dynamic_shapes(
    shapes: Any, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dict[tuple[int, int], str]:
    """`dynamic_shapes` of the newer call: as the arguments are."""
    if not shapes:
        return {}
    if isinstance(shapes, dict):
        forward = getattr(model, "forward", model)
        order = [*inspect.signature(forward).parameters]
        pairs = [(value, shapes.get(name)) for name, value in zip(order, args, strict=False)]
        pairs += [(value, shapes.get(name)) for name, value in kwargs.items()]
    else:
        pairs = list(zip([*args, *kwargs.values()], shapes, strict=False))
    wanted: dict[tuple[int, int], str] = {}
    number = 0
    for value, spec in pairs:
        if isinstance(value, Tensor):
            dims = dict(enumerate(spec)) if isinstance(spec, (list, tuple)) else spec or {}
            for dim, label in dims.items():
                name = getattr(label, "__name__", label)
                if label is None or name == "STATIC":
                    continue
                fresh = name in ("AUTO", "DYNAMIC")
                wanted[number, dim] = f"s{len(wanted)}" if fresh else str(name)
            number += 1
    return wanted


# -- writing ---------------------------------------------------------------------------------------


def exported(
    model: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    wanted: dict[tuple[int, int], str],
    input_names: list[str],
    output_names: list[str] | None,
    opset: int | None,
) -> Any:
    """The ONNX model."""
    onnx = need_onnx()
    leaves, _ = tree_flatten((args, kwargs))
    inputs = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
    try:
        axes, runs = all_runs(model, args, kwargs, wanted, inputs)
        one, calls = runs[0], merged_calls(runs, axes)
        g = GraphWriter(onnx, [run.tape for run in runs], axes)
        g.input_names = input_names
        g.names.update(enumerate(input_names))
        g.tensor_names = _named_tensors(model)
        for call in _needed(calls, one.outputs):
            _write(g, call)
        return _model(g, one, output_names, opset)
    except Unexplained as reason:
        raise OnnxExporterError(
            f"torch.onnx.export: {reason}, which has no form in ONNX with sizes that change.\n  "
            "Export with fixed sizes, or change the model there." + errors.at_user_line()
        ) from None


def _named_tensors(model: Any) -> dict[int, str]:
    found: dict[int, str] = {}
    for names in ("named_parameters", "named_buffers"):
        for name, tensor in getattr(model, names, list)() or ():
            found[id(tensor._array)] = name
    return found


def _needed(calls: list[Call], outputs: list[Value]) -> list[Call]:
    """The operations that results depend on."""
    wanted = {value.number for value in outputs}
    kept = []
    for call in reversed(calls):
        if any(value.number in wanted for value in call.outputs):
            kept.append(call)
            wanted.update(_numbers(call.inputs))
    return kept[::-1]


def _numbers(values: Any) -> list[int]:
    found: list[int] = []
    for each in values:
        if isinstance(each, Value):
            found.append(each.number)
        elif isinstance(each, (list, tuple)):
            found += _numbers(each)
    return found


def _write(g: GraphWriter, call: Call) -> None:
    numbers = [*_numbers(call.inputs), *_numbers(call.outputs)]
    of_complex = any(g.tape.arrays[number].dtype.kind == "c" for number in numbers)
    writer = (COMPLEX if of_complex else WRITERS).get(call.name)
    if writer is None:
        kind = " of complex numbers" if of_complex else ""
        raise OnnxExporterError(
            f"torch.onnx.export: the operation {call.name}{kind} has no ONNX form here"
            + errors.at_user_line()
        )
    made = writer(g, call)
    names = made if isinstance(made, list) else [made]
    for value, name in zip(call.outputs, names, strict=True):
        if name is None:
            g.unwritten[value.number] = call.name
        else:
            g.names[value.number] = name


def _model(g: GraphWriter, run: Run, output_names: list[str] | None, opset: int | None) -> Any:
    onnx = g.onnx
    helper = onnx.helper
    ends = [*(each._array for each in run.inputs), *(g.array(each) for each in run.outputs)]
    if any(array.dtype.kind == "c" for array in ends):
        raise OnnxExporterError(
            "torch.onnx.export: inputs and results cannot be complex; take and return their parts "
            "(torch.view_as_complex, torch.view_as_real)" + errors.at_user_line()
        )
    changing = {(axis.input, axis.dim): axis.name for axis in g.axes}
    inputs = [
        helper.make_tensor_value_info(
            name, _element(array),
            [changing.get((number, dim), n) for dim, n in enumerate(array.shape)],
        )
        for number, (name, array) in enumerate(
            zip(g.input_names, (each._array for each in run.inputs), strict=True)
        )
    ]  # fmt: skip
    outputs = []
    for number, value in enumerate(run.outputs):
        name = g.name(value)
        asked = output_names[number] if output_names and number < len(output_names) else None
        final = asked or (f"output_{number}" if len(run.outputs) > 1 else "output")
        g.nodes.append(helper.make_node("Identity", [name], [final]))
        outputs.append(helper.make_tensor_value_info(final, _element(g.array(value)),
                                                     _output_shape(g, value)))  # fmt: skip
    tensors = [onnx.numpy_helper.from_array(a, name) for name, a in g.initializers.items()]
    graph = helper.make_graph(g.nodes, "main_graph", inputs, outputs, tensors)
    made = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION,
        producer_name="clew", producer_version=version.clew,
    )  # fmt: skip
    if opset is not None and opset != OPSET:
        made = onnx.version_converter.convert_version(made, opset)
    onnx.checker.check_model(made)
    return made


def _element(array: np.ndarray) -> int:
    return ELEMENT[dtypes.BY_NUMPY[array.dtype].name]


def _output_shape(g: GraphWriter, value: Value) -> list[int | str]:
    found: list[int | str] = []
    for dim, sizes in enumerate(zip(*(tape.arrays[value.number].shape for tape in g.tapes))):
        try:
            size = explain_all(sizes, g.axes)
        except Unexplained:
            found.append(f"size_{value.number}_{dim}")
            continue
        if not isinstance(size, Expression):
            found.append(size)
        elif str(size) == size.axes[0].name:
            found.append(size.axes[0].name)
        else:
            found.append(f"size_{value.number}_{dim}")
    return found


class ONNXProgram:
    """An exported model, and what can be done with it.

    Example:
        >>> def check(program: clew.onnx.ONNXProgram) -> None:
        ...     program.save("model.onnx")
    """

    def __init__(self, model_proto: Any) -> None:
        self.model_proto = model_proto

    def save(self, destination: Any, **options: Any) -> None:
        """Write the model to a file, given by its path or open for writing."""
        data = self.model_proto.SerializeToString()
        if isinstance(destination, (str, os.PathLike)):
            with open(destination, "wb") as file:
                file.write(data)
        else:
            destination.write(data)

    def optimize(self) -> None:
        """Nothing to do: what runs the model optimizes it."""

    def __call__(self, *args: Any, **kwargs: Any) -> tuple[Tensor, ...]:
        """Run the model in onnxruntime."""
        try:
            import onnxruntime
        except ImportError as error:
            raise OnnxExporterError(
                "running an ONNX model needs the package onnxruntime" + errors.at_user_line()
            ) from error
        session = onnxruntime.InferenceSession(self.model_proto.SerializeToString())
        leaves, _ = tree_flatten((args, kwargs))
        given = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
        feed = {
            each.name: value.detach().numpy()
            for each, value in zip(session.get_inputs(), given, strict=True)
        }
        return tuple(wrap(np.asarray(each)) for each in session.run(None, feed))

    def __repr__(self) -> str:
        graph = self.model_proto.graph
        inputs = ", ".join(each.name for each in graph.input)
        outputs = ", ".join(each.name for each in graph.output)
        return f"ONNXProgram({inputs} -> {outputs}, {len(graph.node)} nodes)"


def default_names(
    model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], given: Any
) -> list[str]:
    """Names for the inputs: those asked for, then those of forward's arguments."""
    names = list(given or ())
    try:
        order = [*inspect.signature(getattr(model, "forward", model)).parameters]
    except (TypeError, ValueError):
        order = []
    found: list[str] = []
    for number, value in enumerate(args):
        count = sum(isinstance(each, Tensor) for each in tree_flatten(value)[0])
        stem = order[number] if number < len(order) else f"input_{number}"
        found += [stem] if count == 1 else [f"{stem}_{n}" for n in range(count)]
    for key, value in kwargs.items():
        found += [key] * sum(isinstance(each, Tensor) for each in tree_flatten(value)[0])
    return [*names, *found[len(names) :]]


def warn_ignored(options: dict[str, Any]) -> None:
    """Say which options change nothing here."""
    known = {
        "verbose", "external_data", "custom_translation_table", "report", "optimize", "verify",
        "profile", "dump_exported_program", "artifacts_dir", "fallback", "export_params",
        "keep_initializers_as_inputs", "training", "operator_export_type", "do_constant_folding",
        "custom_opsets", "export_modules_as_functions", "autograd_inlining",
    }  # fmt: skip
    unknown = options.keys() - known
    if unknown:
        raise TypeError(
            f"export() got an unexpected keyword argument '{min(unknown)}'" + errors.at_user_line()
        )
    if options.get("keep_initializers_as_inputs") or options.get("export_params") is False:
        warnings.warn(
            "torch.onnx.export: weights are always written, and never as inputs",
            stacklevel=user_stacklevel(),
        )
