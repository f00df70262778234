"""Settings of an ONNX export, which clew does not have."""

from __future__ import annotations

from types import SimpleNamespace

GLOBALS = SimpleNamespace(in_onnx_export=False, export_onnx_opset_version=18)
