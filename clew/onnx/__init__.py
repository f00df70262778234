"""The names of `torch.onnx`, for programs that may export. clew writes no ONNX files."""

from __future__ import annotations

import enum
import os
from collections.abc import Callable
from typing import Any, NoReturn

from clew import errors, version

__all__ = [
    "ONNXProgram", "OnnxExporterError", "OperatorExportTypes", "TrainingMode", "export",
    "is_in_onnx_export", "producer_name", "producer_version", "register_custom_op_symbolic",
    "unregister_custom_op_symbolic",
]  # fmt: skip

# Who would have written a file.
producer_name, producer_version = "pytorch", version.api.partition("+")[0]


class OnnxExporterError(RuntimeError):
    """What an export raises: for `except`.

    Example:
        >>> issubclass(clew.onnx.OnnxExporterError, RuntimeError)
        True
    """


class ONNXProgram:
    """For annotations: no export returns one.

    Example:
        >>> def check(program: clew.onnx.ONNXProgram) -> None:
        ...     program.save("model.onnx")
    """


class TrainingMode(enum.IntEnum):
    """The mode that a model would be exported in.

    Example:
        >>> clew.onnx.TrainingMode.EVAL.name
        'EVAL'
    """

    EVAL = 0
    PRESERVE = 1
    TRAINING = 2


class OperatorExportTypes(enum.IntEnum):
    """Which operators an export would write.

    Example:
        >>> clew.onnx.OperatorExportTypes.ONNX.name
        'ONNX'
    """

    ONNX = 0
    ONNX_ATEN = 1
    ONNX_ATEN_FALLBACK = 2
    ONNX_FALLTHROUGH = 3


def export(
    model: Any, args: Any = (), f: str | os.PathLike[str] | None = None, **options: Any
) -> NoReturn:
    """Raises: clew does not write ONNX files.

    Args:
        model: the module
        args: an example of its inputs
        f: the file
        options: those of `torch.onnx.export`

    Example:
        >>> clew.onnx.export(nn.Linear(2, 1), clew.ones(1, 2), "model.onnx")
        Traceback (most recent call last):
        ...
        torch.onnx.OnnxExporterError: torch.onnx.export: clew does not write ONNX files...
    """
    raise OnnxExporterError(
        "torch.onnx.export: clew does not write ONNX files.\n"
        "  Save the weights, torch.save(model.state_dict(), path), and export with PyTorch, "
        "which reads them." + errors.at_user_line()
    )


def is_in_onnx_export() -> bool:
    """False: nothing is exported.

    Example:
        >>> clew.onnx.is_in_onnx_export()
        False
    """
    return False


def register_custom_op_symbolic(
    symbolic_name: str, symbolic_fn: Callable[..., Any], opset_version: int
) -> None:
    """Accepted: no export will ask for it.

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
