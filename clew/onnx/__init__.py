"""`torch.onnx`: models as files for other runtimes. clew does not write them, and says so."""

from __future__ import annotations

import enum
from typing import Any, NoReturn

from clew import errors
from clew.onnx import symbolic_helper, utils

__all__ = [
    "ExportOptions", "ONNXProgram", "OnnxExporterError", "OperatorExportTypes", "TrainingMode",
    "dynamo_export", "export", "is_in_onnx_export", "register_custom_op_symbolic",
    "symbolic_helper", "unregister_custom_op_symbolic", "utils",
]  # fmt: skip


class OnnxExporterError(RuntimeError):
    """What exporting raises."""


class TrainingMode(enum.Enum):
    """Whether a model is exported for training."""

    EVAL, PRESERVE, TRAINING = range(3)


class OperatorExportTypes(enum.Enum):
    """How operations without an equivalent are exported."""

    ONNX, ONNX_ATEN, ONNX_ATEN_FALLBACK, ONNX_FALLTHROUGH = range(4)


class ONNXProgram:
    """An exported model: for annotations."""


class ExportOptions:
    """Options of an export: for annotations."""


def is_in_onnx_export() -> bool:
    """Whether a model is being exported: no."""
    return False


def export(model: Any, args: Any = (), f: Any = None, **kwargs: Any) -> NoReturn:
    """Raises: clew does not write ONNX files.

    Args:
        model: the model
        args: arguments to call it with
        f: the file
    """
    raise OnnxExporterError(
        "torch.onnx.export: clew does not write ONNX files. Save the state dict with torch.save, "
        "load it into the same model with PyTorch, and export there." + errors.at_user_line()
    )


dynamo_export = export


def register_custom_op_symbolic(
    symbolic_name: str, symbolic_fn: Any, opset_version: int, custom_opsets: Any = None
) -> None:
    """Accepted: the rule of an operation for an export, which raises."""


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """Accepted, as `register_custom_op_symbolic` is."""
