"""Shape propagation: a graph is run, and every node is told what its value looks like."""

from __future__ import annotations

from typing import Any, NamedTuple

from clew.backend import dtypes
from clew.backend.layout import channels_last, channels_last_3d, contiguous_format, memory_format
from clew.core.tensor import Size, Tensor
from clew.fx.interpreter import Interpreter
from clew.fx.node import Node, map_aggregate

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(NamedTuple):
    """What a tensor looks like."""

    shape: Size
    dtype: dtypes.dtype
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: memory_format | None
    is_quantized: bool
    qparams: dict[str, Any]


def _extract_tensor_metadata(result: Tensor, include_contiguity: bool = True) -> TensorMetadata:
    """What a tensor looks like."""
    formats = (contiguous_format, channels_last, channels_last_3d)
    found = None
    if include_contiguity:
        fitting = [f for f in formats if result.is_contiguous(memory_format=f)]
        found = fitting[0] if fitting else None
    return TensorMetadata(
        result.shape, result.dtype, result.requires_grad, result.stride(), found, False, {}
    )


class ShapeProp(Interpreter):
    """Runs a traced module and notes in `node.meta["tensor_meta"]` what each value looks like.

    Args:
        gm: the traced module

    Example:
        >>> traced = clew.fx.symbolic_trace(nn.Sequential(nn.Linear(2, 3)))
        >>> out = clew.fx.passes.shape_prop.ShapeProp(traced).propagate(clew.ones(4, 2))
        >>> [node.meta["tensor_meta"].shape for node in traced.graph.nodes]
        [torch.Size([4, 2]), torch.Size([4, 3]), torch.Size([4, 3])]
    """

    def run_node(self, n: Node) -> Any:
        """Run a node and note what its value looks like."""
        result = super().run_node(n)
        found = False

        def look(value: Any) -> Any:
            nonlocal found
            if isinstance(value, Tensor):
                found = True
                return _extract_tensor_metadata(value)
            return value

        meta = map_aggregate(result, look)
        if found:
            n.meta["tensor_meta"] = meta
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """Run the module; returns its result.

        Args:
            args: its arguments
        """
        return super().run(*args)
