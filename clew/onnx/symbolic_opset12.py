"""Rules of a version of ONNX's operations: none, because `export` raises."""
