"""PyTorch's older constructors of sparse tensors: `sparse.FloatTensor(indices, values, size)`."""

from __future__ import annotations

from typing import Any

from clew import errors
from clew.backend import dtypes
from clew.core.tensor import Tensor
from clew.ops.sparse.construction import empty_coo, sparse_coo_tensor


class _Typed(type):
    """The class of these constructors: a tensor is one of them by layout and dtype."""

    dtype: dtypes.dtype

    def __instancecheck__(cls, instance: Any) -> bool:
        is_sparse = isinstance(instance, Tensor) and instance.layout.name == "sparse_coo"
        return is_sparse and instance.dtype is cls.dtype

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if not args or isinstance(args[0], int):
            return empty_coo(tuple(args) or (0,), cls.dtype.np)
        if len(args) == 1 and isinstance(args[0], (tuple, list)):
            return empty_coo(tuple(args[0]), cls.dtype.np)
        if len(args) > 1 and isinstance(args[1], Tensor) and args[1].dtype is not cls.dtype:
            raise RuntimeError(
                f"expected values of dtype {cls.dtype!r}, got {args[1].dtype!r}"
                + errors.at_user_line()
            )
        return sparse_coo_tensor(*args, **kwargs)


CONSTRUCTORS: dict[str, Any] = {
    f"{dtype.scalar_name}Tensor": _Typed(
        f"{dtype.scalar_name}Tensor", (), {"dtype": dtype, "__module__": "clew.sparse"}
    )
    for dtype in (
        dtypes.float32, dtypes.float64, dtypes.float16, dtypes.bfloat16, dtypes.uint8, dtypes.int8,
        dtypes.int16, dtypes.int32, dtypes.int64,
    )
}  # fmt: skip
