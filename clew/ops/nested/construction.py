"""Making nested tensors: of lists, of values and offsets, of parts of strided tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from clew import errors
from clew.backend import layout as layouts
from clew.core.state import local
from clew.core.tensor import Tensor
from clew.ops.create.from_data import as_tensor
from clew.ops.define.options import cannot_pin, require_grad
from clew.ops.nested.cuts import Jagged, Pieces
from clew.ops.nested.tensor import constant, is_nested, nested, of_components
from clew.ops.shape.joining import cat


def _unsupported(layout: Any, what: str = "tensors") -> RuntimeError:
    return RuntimeError(
        f"Specified layout is unsupported for nested {what}: {layout}" + errors.at_user_line()
    )


def nested_tensor(
    tensor_list: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A nested tensor with copies of tensors, or of lists of numbers; a leaf.

    Args:
        tensor_list: the components, which have one number of dimensions
        dtype: the type of the elements; None takes that of the first component
        layout: `clew.jagged`, where one dimension may be ragged, or `clew.strided`; None means that
        device: the device; None takes that of the first component
        requires_grad: whether gradients of it are wanted
        pin_memory: must be False

    Example:
        >>> x = clew.nested.nested_tensor([clew.ones(2, 3), clew.ones(4, 3)], layout=clew.jagged)
        >>> x.shape[0], x.shape[2], x.offsets()
        (2, 3, tensor([0, 2, 6]))
    """
    if pin_memory:
        raise cannot_pin()
    if layout not in (None, layouts.strided, layouts.jagged):
        raise _unsupported(layout)
    if layout is layouts.jagged:
        tensors = [each if isinstance(each, Tensor) else as_tensor(each) for each in tensor_list]
    elif isinstance(tensor_list, (list, tuple)):
        first = tensor_list[0] if tensor_list else None
        wanted = dtype or (first.dtype if isinstance(first, Tensor) else None)
        tensors = [as_tensor(each, dtype=wanted) for each in tensor_list]
    else:
        raise TypeError(
            "Only lists (List[Tensor] and List[List...[Scalar]]) are accepted in nested_tensor"
            + errors.at_user_line()
        )
    before, local.state.grad_enabled = local.state.grad_enabled, False
    try:
        result = _of_list(tensors, dtype, device, layout)
    finally:
        local.state.grad_enabled = before
    if requires_grad and layout is not layouts.jagged:
        require_grad(result)
    elif requires_grad:
        result.requires_grad_()
    return result


def as_nested_tensor(ts: Any, dtype: Any = None, device: Any = None, layout: Any = None) -> Tensor:
    """A nested tensor of tensors; gradients lead back to them.

    Args:
        ts: a list of tensors, which are copied, a strided tensor, whose first dimension becomes the
            batch and whose memory is shared, or a nested tensor
        dtype: the type of the elements; None keeps it
        device: the device; None keeps it
        layout: `clew.jagged` or `clew.strided`; None means that

    Example:
        >>> x = clew.ones(2, requires_grad=True)
        >>> y = clew.nested.as_nested_tensor([x, clew.ones(3)], layout=clew.jagged)
        >>> y.values().sum().backward()
        >>> x.grad
        tensor([1., 1.])
    """
    is_list = isinstance(ts, (list, tuple)) and all(isinstance(each, Tensor) for each in ts)
    if not isinstance(ts, Tensor) and not is_list:
        raise TypeError(
            "as_nested_tensor(): Expected first argument to be a tensor or a list / tuple of "
            "tensors" + errors.at_user_line()
        )
    if is_nested(ts):
        if layout != ts.layout:
            raise RuntimeError(
                "as_nested_tensor(): Converting between nested tensor layouts is not supported"
                + errors.at_user_line()
            )
        return _moved(ts, dtype, device)
    if isinstance(ts, Tensor) and ts.dim() < 2:
        raise RuntimeError(
            "as_nested_tensor(): Expected tensor argument to have dim() > 1" + errors.at_user_line()
        )
    if layout not in (None, layouts.strided, layouts.jagged):
        raise _unsupported(layout)
    if isinstance(ts, Tensor):
        count, length = ts.shape[:2]
        if layout is layouts.jagged:
            values = _moved(ts.contiguous().flatten(0, 1), dtype, device)
            offsets = constant(np.arange(count + 1) * length)
            return nested(values, Jagged(offsets, known=_extremes([length])))
        return nested(_moved(ts.reshape(-1), dtype, device), Pieces([ts.shape[1:]] * count))
    return _of_list(list(ts), dtype, device, layout)


def _moved(tensor: Tensor, dtype: Any, device: Any) -> Tensor:
    if dtype is None and device is None:
        return tensor
    result: Tensor = tensor.to(device=device, dtype=dtype)
    return result


def _extremes(lengths: list[int]) -> dict[str, int]:
    return {"min_seqlen": min(lengths), "max_seqlen": max(lengths)}


def _of_list(tensors: list[Tensor], dtype: Any, device: Any, layout: Any) -> Tensor:
    if layout is layouts.jagged:
        return jagged_from_list(tensors, None, dtype=dtype, device=device)[0]
    for number, each in enumerate(tensors):
        if each.dim() != tensors[0].dim():
            raise RuntimeError(
                "All Tensors given to nested_tensor must have the same dimension. Found dimension "
                f"{each.dim()} for Tensor at index {number} and dimension {tensors[0].dim()} for "
                "Tensor at index 0." + errors.at_user_line()
            )
    wanted = dtype or (tensors[0].dtype if tensors else None)
    return of_components([_moved(each, wanted, device) for each in tensors])


def jagged_from_list(
    tensors: list[Tensor], offsets: Tensor | None, dtype: Any = None, device: Any = None
) -> tuple[Tensor, Tensor]:
    """A nested tensor of the jagged layout with copies of tensors, and its offsets.

    Args:
        tensors: the components; in one dimension at most their sizes differ
        offsets: where they begin; None computes it
        dtype: the type of the elements; None keeps it
        device: the device; None keeps it

    Example:
        >>> from clew.nested._internal.nested_tensor import jagged_from_list
        >>> jagged_from_list([clew.ones(2), clew.ones(1)], None)[1]
        tensor([0, 2, 3])
    """
    if not tensors:
        raise RuntimeError(
            "Cannot construct a nested tensor from an empty tensor list" + errors.at_user_line()
        )
    _check_alike(tensors)
    shapes = [each.shape for each in tensors]
    ragged = [dim for dim, sizes in enumerate(zip(*shapes, strict=True)) if len({*sizes}) > 1]
    if len(ragged) > 1:
        raise RuntimeError(
            "Cannot represent given tensor list as a nested tensor with the jagged layout. Note "
            "that the jagged layout only allows for a single ragged dimension. For example: "
            f"(B, *, D_0, D_1, ..., D_N), with ragged * dim.\n  These differ in {len(ragged)}; "
            "layout=torch.strided takes them." + errors.at_user_line()
        )
    along = ragged[0] if ragged else 0
    lengths = [shape[along] for shape in shapes]
    values = _moved(cat(tensors, along), dtype, device)
    if offsets is None:
        offsets = constant(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))
    return nested(values, Jagged(offsets, None, along + 1, _extremes(lengths))), offsets


def _check_alike(tensors: list[Tensor]) -> None:
    """What must be the same of all components."""
    words = "When constructing a nested tensor, all tensors in list must "
    first = tensors[0]
    for what, is_same in (
        ("have the same dtype", all(each.dtype is first.dtype for each in tensors)),
        ("be on the same device", all(each.device == first.device for each in tensors)),
        ("have the same dim", all(each.dim() == first.dim() for each in tensors)),
    ):
        if not is_same:
            raise RuntimeError(words + what + errors.at_user_line())
    if not first.dim():
        raise RuntimeError(
            "Cannot construct a nested tensor from a list of zero-dim tensors"
            + errors.at_user_line()
        )


def nested_tensor_from_jagged(
    values: Tensor,
    offsets: Tensor | None = None,
    lengths: Tensor | None = None,
    jagged_dim: int | None = None,
    min_seqlen: int | None = None,
    max_seqlen: int | None = None,
) -> Tensor:
    """A nested tensor that shares the memory of its values.

    Nested tensors made with the same tensor of offsets have the same ragged length.

    Args:
        values: the elements, with those of all components one after another
        offsets: where each component begins, and where the last one ends
        lengths: how long components are; with offsets as well, there may be gaps between them
        jagged_dim: which dimension of the result is ragged; None means 1
        min_seqlen: the least length, where it is known
        max_seqlen: the greatest length, where it is known

    Example:
        >>> offsets = clew.tensor([0, 2, 5])
        >>> clew.nested.nested_tensor_from_jagged(clew.arange(5), offsets)[1]
        tensor([2, 3, 4])
    """
    if offsets is None:
        if lengths is None:
            raise RuntimeError(
                "nested_tensor_from_jagged(): At least one of offsets or lengths is required."
                + errors.at_user_line()
            )
        offsets = constant(np.concatenate([[0], np.cumsum(lengths._array)]).astype(np.int64))
        lengths = None
    if jagged_dim is None:
        jagged_dim = 1
    elif jagged_dim < 1:
        raise ValueError(f"Expected jagged_dim >=1, but got {jagged_dim}." + errors.at_user_line())
    return view_from_jagged(values, offsets, lengths, jagged_dim, min_seqlen, max_seqlen)


def view_from_jagged(
    values: Tensor,
    offsets: Tensor,
    lengths: Tensor | None = None,
    ragged_idx: int = 1,
    min_seqlen: int | None = None,
    max_seqlen: int | None = None,
) -> Tensor:
    """The same of checked parts."""
    if offsets.dim() != 1:
        raise AssertionError(
            f"offsets must be 1D, but got {offsets.dim()}D" + errors.at_user_line()
        )
    if is_nested(values):
        raise AssertionError("values must not be a NestedTensor" + errors.at_user_line())
    count = offsets.shape[0] - 1
    if lengths is not None and lengths.shape[0] != count:
        raise AssertionError(
            "offsets and lengths batch sizes must match: offsets.shape[0] - 1 = "
            f"{count}, lengths.shape[0] = {lengths.shape[0]}" + errors.at_user_line()
        )
    known = {
        name: int(n)
        for name, n in (("min_seqlen", min_seqlen), ("max_seqlen", max_seqlen))
        if n is not None
    }
    return nested(values, Jagged(offsets, lengths, ragged_idx, known))


def narrow(
    tensor: Tensor, dim: int, start: Any, length: Any, layout: Any = layouts.strided
) -> Tensor:
    """Of each row of a strided tensor a range of its own, as a nested tensor.

    Args:
        tensor: the strided tensor; in the jagged layout its memory is shared
        dim: the dimension of the ranges; in the jagged layout 1
        start: where the ranges begin, one number or a tensor with one for each row
        length: how long they are, in the same way
        layout: `clew.strided`, which takes numbers only, or `clew.jagged`

    Example:
        >>> x = clew.arange(6).reshape(2, 3)
        >>> lengths = clew.tensor([1, 2])
        >>> [*clew.nested.narrow(x, 1, 0, lengths, layout=clew.jagged)]
        [tensor([0]), tensor([3, 4])]
    """
    for name, value in (("start", start), ("length", length)):
        if not isinstance(value, (int, Tensor)):
            raise RuntimeError(f"{name} must be an integer or a tensor" + errors.at_user_line())
    if layout is layouts.strided:
        if isinstance(start, Tensor) or isinstance(length, Tensor):
            raise RuntimeError(
                "start and length must be integers for the strided layout NT impl"
                + errors.at_user_line()
            )
        result: Tensor = as_nested_tensor(list(tensor.unbind())).narrow(dim, start, length)
        return result
    if layout is not layouts.jagged:
        raise _unsupported(layout, "narrow")
    if dim != 1:
        raise RuntimeError("jagged layout only supports dim=1" + errors.at_user_line())
    return _ranges(tensor, start, length)


def _ranges(tensor: Tensor, start: Any, length: Any) -> Tensor:
    count, room = tensor.shape[:2]
    try:
        starts, lengths = (
            np.broadcast_to(getattr(each, "_array", each), count).astype(np.int64)
            for each in (start, length)
        )
    except ValueError:
        raise RuntimeError(
            "When constructing a jagged nested tensor using narrow(), your start and length must be"
            " Tensors that broadcast to input.shape[0]" + errors.at_user_line()
        ) from None
    known = _extremes(lengths.tolist())
    values = tensor.view(-1, *tensor.shape[2:])
    begin = starts + room * np.arange(count)
    offsets = np.concatenate([begin, begin[-1:] + lengths[-1:]])
    if bool((begin[:-1] + lengths[:-1] == begin[1:]).all()):
        # The ranges touch: there are no gaps.
        whole = values[int(offsets[0]) : int(offsets[-1])]
        return nested(whole, Jagged(constant(offsets - offsets[0]), known=known))
    return nested(values, Jagged(constant(offsets), constant(lengths), known=known))


def masked_select(tensor: Tensor, mask: Tensor) -> Tensor:
    """The elements of a strided tensor where a mask is true, a component for each last row.

    Args:
        tensor: the strided tensor
        mask: a strided tensor of booleans whose shape broadcasts with it

    Example:
        >>> x = clew.tensor([[1, 2], [3, 4]])
        >>> [*clew.nested.masked_select(x, x > 1)]
        [tensor([2]), tensor([3, 4])]
    """
    for what, given in (("tensor, given", tensor), ("mask, given:", mask)):
        if given.layout != layouts.strided:
            raise RuntimeError(
                f"torch.nested.masked_select requires a strided {what} {given.layout}"
                + errors.at_user_line()
            )
    counts = mask.expand(tensor.shape).sum(tensor.dim() - 1).reshape(-1)._array
    offsets = constant(np.concatenate([[0], np.cumsum(counts)]).astype(np.int64))
    return nested(tensor.masked_select(mask), Jagged(offsets))
