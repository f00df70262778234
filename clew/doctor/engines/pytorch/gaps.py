"""What PyTorch does not tell, by the rule that misses it."""

from __future__ import annotations

GAPS: dict[str, str] = {
    "data-leak": "rows that were copied out of a permuted array are not always traced",
    "loss-broadcast": "losses that clew refuses run there, with a warning of PyTorch's",
    "checkpoint-mismatch": "only errors that `checkpoint` raises itself; values are not compared",
    "inplace-saved-tensor": "writes that PyTorch does not count (`.data`, NumPy) are not noticed",
    "detached-graph": "values that come back by DLPack, or in another thread, are not followed; an "
    "expression that `nn.Parameter` takes, or indices alone, may be called param-unused",
    "nan-origin": "inside of `torch.func` transforms no operation is seen",
    "graph-leak": "the holder is named for tensors that a watched step has made",
}
