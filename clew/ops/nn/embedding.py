"""Looking up rows of a table: embedding, embedding_bag, one_hot."""

from __future__ import annotations

import operator

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.arguments import typed
from clew.core.inplace import bump_version
from clew.core.interception import by_example
from clew.core.meta.device import refuse_read
from clew.core.op import Op
from clew.core.state import local
from clew.core.tensor import Tensor, of_values
from clew.kernels import numpy as kernels
from clew.kernels.numpy.arrays import are_below, widened
from clew.ops.define import vmap_errors
from clew.ops.define.dims import refuse_flag, require_bool
from clew.ops.define.rows import refuse_complex_history

Array = np.ndarray


@typed
def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """A new last dimension that is 1 at the index and 0 elsewhere.

    Args:
        tensor: the indices
        num_classes: the size of that dimension; -1 is the largest index + 1

    Example:
        >>> F.one_hot(clew.tensor([0, 2]), num_classes=3)
        tensor([[1, 0, 0],
                [0, 0, 1]])
    """
    if tensor.dtype is not dtypes.int64:
        raise RuntimeError(
            "one_hot is only applicable to index tensor of type LongTensor." + errors.at_user_line()
        )
    indices = tensor._array
    if not indices.size and num_classes <= 0:
        raise RuntimeError(
            "Can not infer total number of classes from empty tensor." + errors.at_user_line()
        )
    if of_values(lambda values: bool(values.size) and bool(values.min() < 0), tensor):
        raise RuntimeError("Class values must be non-negative." + errors.at_user_line())
    if num_classes == -1:
        if tensor._is_lifted:
            raise vmap_errors.class_count()
        refuse_read(tensor, "one_hot")
        num_classes = of_values(lambda values: int(values.max()) + 1, tensor)
    elif of_values(lambda values: bool(values.size and values.max() >= num_classes), tensor):
        raise RuntimeError("Class values must be smaller than num_classes." + errors.at_user_line())
    result: Tensor = ONE_HOT(tensor, num_classes=num_classes)
    return result


ONE_HOT = Op(
    "one_hot",
    lambda self, *, num_classes: (self[..., None] == np.arange(num_classes)).astype(np.int64),
    non_differentiable="integer output",
)


def _embedding(
    weight: Array,
    indices: Array,
    *,
    padding_idx: int,
    scale_grad_by_freq: bool,
    sparse: bool = False,
) -> Array:
    if not weight.shape[0] and indices.size:
        raise RuntimeError(
            "index_select(): self indexing axis dim should be positive\n  The table has no rows."
            + errors.at_user_line()
        )
    if not weight.size and not are_below(indices, weight.shape[0]):
        raise errors.outside_data(indices, weight.shape[0])
    check_rows(indices, weight.shape[0])
    return kernels.scatter.take_rows(weight, indices)


def check_rows(indices: Array, rows: int) -> None:
    """Refuse indices outside of the table."""
    if not are_below(indices, rows):
        raise IndexError("index out of range in self" + errors.at_user_line())


def _embedding_backward(
    grad_output: Array, indices: Array, *, rows: int, padding_idx: int, scale_grad_by_freq: bool
) -> Array:
    width = grad_output.shape[-1]
    flat = indices.reshape(-1)
    values = grad_output.reshape(flat.size, width)
    if scale_grad_by_freq:
        counts = np.bincount(flat, minlength=rows)
        wide = widened(values)
        values = (wide / counts[flat][:, None].astype(wide.dtype)).astype(values.dtype, copy=False)
    if padding_idx >= 0:
        keep = flat != padding_idx
        flat, values = flat[keep], values[keep]
    return kernels.scatter.add_at(np.zeros((rows, width), values.dtype), (flat,), values)


def _scatter_gradient(
    g: Tensor, indices: Tensor, padding_idx: int, scale_grad_by_freq: bool
) -> Tensor:
    picked: Tensor = EMBEDDING(g, indices, padding_idx=-1, scale_grad_by_freq=False)
    if scale_grad_by_freq:
        counts = indices.flatten().bincount(minlength=g._array.shape[0])
        picked = picked / counts[indices].unsqueeze(-1)
    if padding_idx >= 0:
        picked = picked.masked_fill((indices == padding_idx).unsqueeze(-1), 0)
    return picked


EMBEDDING_BACKWARD = Op(
    "embedding_dense_backward", _embedding_backward, grads={"grad_output": _scatter_gradient},
    multilinear=True,
)  # fmt: skip


def gradient_of_table(
    g: Tensor,
    indices: Tensor,
    padding_idx: int,
    scale_grad_by_freq: bool,
    weight_shape: tuple[int, ...],
    sparse: bool | None = False,
) -> Tensor:
    """The gradient of a table whose rows were looked up; a sparse one lists these rows alone."""
    if sparse:
        return _sparse_gradient(g, indices, padding_idx, scale_grad_by_freq, weight_shape)
    result: Tensor = EMBEDDING_BACKWARD(
        g, indices, rows=weight_shape[0], padding_idx=padding_idx,
        scale_grad_by_freq=scale_grad_by_freq,
    )  # fmt: skip
    return result


def _sparse_gradient(
    g: Tensor,
    indices: Tensor,
    padding_idx: int,
    scale_grad_by_freq: bool,
    weight_shape: tuple[int, ...],
) -> Tensor:
    from clew.ops.sparse.construction import sparse_coo_tensor

    if scale_grad_by_freq:
        raise RuntimeError(
            "embedding_backward: scale_grad_by_freq not supported with sparse gradients"
            + errors.at_user_line()
        )
    flat = indices.reshape(-1).to(dtypes.int64)
    values = g.reshape(flat._array.size, weight_shape[1])
    if padding_idx >= 0:
        kept = flat != padding_idx
        flat, values = flat[kept], values[kept]
    return sparse_coo_tensor(flat.unsqueeze(0), values, weight_shape)


EMBEDDING = Op("embedding", _embedding, multilinear=True, grads={"weight": gradient_of_table})


def check_indices(indices: Tensor, function: str, name: str = "indices") -> None:
    """Only int64 and int32 indices are taken."""
    if not isinstance(indices, Tensor):
        raise errors.wrong_argument(function, "indices", 2, "Tensor", indices)
    if indices.dtype not in (dtypes.int64, dtypes.int32):
        raise RuntimeError(
            f"Expected tensor for argument #1 '{name}' to have one of the following scalar types: "
            f"Long, Int; but got torch.{indices.dtype.scalar_name}Tensor instead (while checking "
            f"arguments for {function})" + errors.at_user_line()
        )


def padding_index(padding_idx: int, rows: int) -> int:
    """A padding index counted from the front."""
    padding_idx = operator.index(padding_idx)
    if not -rows <= padding_idx < rows:
        raise AssertionError("Padding_idx must be within num_embeddings" + errors.at_user_line())
    return padding_idx % rows


@by_example
def renormalize_rows(weight: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> None:
    """Shrink, in place, the rows that are looked up and whose norm is too large."""
    if weight.dtype.category < dtypes.FLOAT:
        raise RuntimeError(
            "norm(): input dtype should be either floating point or complex. Got "
            f"{weight.dtype.scalar_name} instead." + errors.at_user_line()
        )
    table = weight._array
    check_rows(indices._array, table.shape[0])
    rows = np.unique(indices._array)
    picked = widened(table[rows])
    # PyTorch rounds the norms to the dtype of the table.
    real = weight.dtype.to_real().np
    norms = np.linalg.norm(picked, ord=norm_type, axis=1, keepdims=True).astype(real)
    sizes = norms.astype(np.float64)
    scale = np.where(sizes > max_norm, max_norm / (sizes + 1e-7), 1)
    table[rows] = (picked * scale.astype(picked.dtype)).astype(table.dtype)
    bump_version(weight, "embedding_renorm_")


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Rows of `weight`, as the input names them.

    Args:
        input: the indices, of any shape
        weight: the table, (number of rows, features)
        padding_idx: a row that gets no gradient
        max_norm: shorten the rows that are used to this norm, in place
        norm_type: the order of that norm
        scale_grad_by_freq: divide a row's gradient by how often the input names it
        sparse: make the gradient of `weight` a sparse tensor, which lists the rows that are used

    Example:
        >>> F.embedding(clew.tensor([2, 0]), clew.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
        tensor([[5., 6.],
                [1., 2.]])
    """
    if not isinstance(weight, Tensor):
        raise errors.wrong_argument("embedding", "weight", 1, "Tensor", weight)
    refuse_flag("padding_idx", padding_idx)
    if scale_grad_by_freq is not False or sparse is not False:
        require_bool("scale_grad_by_freq", scale_grad_by_freq)
        require_bool("sparse", sparse)
    if not weight._array.ndim and weight.requires_grad and local.state.grad_enabled:
        raise errors.no_dimensions(0)
    padding = -1 if padding_idx is None else padding_index(padding_idx, weight._array.shape[0])
    if weight._array.ndim != 2:
        raise RuntimeError("'weight' must be 2-D" + errors.at_user_line())
    check_indices(input, "embedding")
    if max_norm is not None:
        if weight.dtype.is_complex:
            refuse_complex_history("embedding", weight)
        renormalize_rows(weight, input, max_norm, norm_type)
    result: Tensor = EMBEDDING(
        weight, input, padding_idx=padding, scale_grad_by_freq=scale_grad_by_freq, sparse=sparse
    )
    # Indices that are out of range are said first.
    if weight.dtype.is_complex:
        refuse_complex_history("embedding", weight)
    return result
