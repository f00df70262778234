"""`torch.onnx`: models as ONNX files, written from the operations of a forward pass.

The pass runs once, or twice with other sizes where some may change; what it computed is written
down (`tape.py`) and put into ONNX's operators (`operators.py`). What Python decided on the way is
fixed in the file.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

from clew import version
from clew.onnx.exporting import (
    OnnxExporterError,
    ONNXProgram,
    default_names,
    exported,
    from_dynamic_axes,
    from_dynamic_shapes,
    warn_ignored,
)

__all__ = [
    "ONNXProgram", "OnnxExporterError", "OperatorExportTypes", "TrainingMode", "export",
    "is_in_onnx_export", "producer_name", "producer_version", "register_custom_op_symbolic",
    "unregister_custom_op_symbolic",
]  # fmt: skip

# Who programs expect to have written a file.
producer_name, producer_version = "pytorch", version.api.partition("+")[0]

_exporting: list[Any] = []


class TrainingMode(enum.IntEnum):
    """The mode that a model is exported in.

    Example:
        >>> clew.onnx.TrainingMode.EVAL.name
        'EVAL'
    """

    EVAL = 0
    PRESERVE = 1
    TRAINING = 2


class OperatorExportTypes(enum.IntEnum):
    """Which operators an export writes: ONNX's, always.

    Example:
        >>> clew.onnx.OperatorExportTypes.ONNX.name
        'ONNX'
    """

    ONNX = 0
    ONNX_ATEN = 1
    ONNX_ATEN_FALLBACK = 2
    ONNX_FALLTHROUGH = 3


def export(
    model: Any,
    args: Any = (),
    f: Any = None,
    *,
    kwargs: dict[str, Any] | None = None,
    input_names: Any = None,
    output_names: Any = None,
    opset_version: int | None = None,
    dynamo: bool = True,
    dynamic_axes: Any = None,
    dynamic_shapes: Any = None,
    training: TrainingMode = TrainingMode.EVAL,
    **options: Any,
) -> ONNXProgram | None:
    """Write a model as an ONNX file.

    Args:
        model: the module
        args: an example of its inputs: a tensor, or a tuple of arguments
        f: the file, by its path or open for writing; None writes none
        kwargs: arguments by name
        input_names: what the file calls the inputs; by default as `forward` does
        output_names: what it calls the outputs
        opset_version: which version of ONNX's operators; 18 unless told otherwise
        dynamo: whether the model is returned, as an `ONNXProgram`
        dynamic_axes: which dimensions may change: {"input": {0: "batch"}}
        dynamic_shapes: the same, in the form of the arguments: {"x": {0: "batch"}}
        training: the mode to export in; by default without dropout and the like
        options: others of PyTorch's, which are about its exporter

    Example:
        >>> program = clew.onnx.export(
        ...     nn.Linear(2, 1), clew.ones(1, 2), dynamic_axes={"input": {0: "batch"}}
        ... )  # doctest: +SKIP
        >>> program.save("model.onnx")  # doctest: +SKIP
    """
    warn_ignored(options)
    given = tuple(args) if isinstance(args, (tuple, list)) else (args,)
    if given and isinstance(given[-1], dict) and kwargs is None and not dynamo:
        given, kwargs = given[:-1], given[-1]
    named = dict(kwargs or {})
    names = default_names(model, given, named, input_names)
    wanted = from_dynamic_axes(dynamic_axes, names)
    wanted |= from_dynamic_shapes(dynamic_shapes, model, given, named)
    modes = {each: each.training for each in model.modules()} if hasattr(model, "modules") else {}
    if training is not TrainingMode.PRESERVE and hasattr(model, "train"):
        model.train(training is TrainingMode.TRAINING)
    _exporting.append(model)
    try:
        made = exported(model, given, named, wanted, names, output_names, opset_version)
    finally:
        _exporting.pop()
        for each, mode in modes.items():
            each.training = mode
    program = ONNXProgram(made)
    if f is not None:
        program.save(f)
    return program if dynamo else None


def is_in_onnx_export() -> bool:
    """Whether an export runs the model right now.

    Example:
        >>> clew.onnx.is_in_onnx_export()
        False
    """
    return bool(_exporting)


def register_custom_op_symbolic(
    symbolic_name: str, symbolic_fn: Callable[..., Any], opset_version: int
) -> None:
    """Accepted: operations are written by clew's own table.

    Args:
        symbolic_name: the operator, "domain::name"
        symbolic_fn: what would write it
        opset_version: of which set of operators

    Example:
        >>> clew.onnx.register_custom_op_symbolic("mine::relu", lambda g, x: x, 17)
    """


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """Accepted: nothing was registered.

    Args:
        symbolic_name: the operator, "domain::name"
        opset_version: of which set of operators

    Example:
        >>> clew.onnx.unregister_custom_op_symbolic("mine::relu", 17)
    """
