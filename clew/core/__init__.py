"""The core: tensors, graph nodes and the backward engine."""
