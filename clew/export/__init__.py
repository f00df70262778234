"""`torch.export`: a module as one graph, with its parameters; to look at, to save, to run.

The module runs once, and every function of tensors that it calls is a step of the graph, by
PyTorch's internal names (`forms.py`). Where sizes may change, it runs up to five times with
different ones, and numbers that differ are written as what they are of the sizes (`sizes.py`).
"""

from clew.export import dynamic_shapes, exported_program, graph_signature
from clew.export._trace import export
from clew.export.archive import load, save
from clew.export.dynamic_shapes import Constraint, Dim, dims
from clew.export.exported_program import ExportedProgram
from clew.export.graph_signature import ExportGraphSignature
from clew.utils._pytree import register_dataclass

export_for_training = export

__all__ = [
    "Constraint", "Dim", "ExportGraphSignature", "ExportedProgram", "dims", "dynamic_shapes",
    "export", "export_for_training", "exported_program", "graph_signature", "load",
    "register_dataclass", "save",
]  # fmt: skip
