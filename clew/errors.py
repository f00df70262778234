"""The catalogue of errors: PyTorch's exception type and leading words, then what clew knows.

Each function returns the exception to raise. Texts say what happened, on which lines of the user's
program, and what to write instead; where a popular fix makes things worse, they say so. Those
about custom functions are in autograd/function_errors.py.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Sequence
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from clew.observer import active
from clew.source import (
    INTERNAL_PACKAGES,
    LOOKS_FIRST,
    _getframe,
    describe,
    user_stacklevel,
    user_where,
)

if TYPE_CHECKING:
    from clew.backend.dtypes import dtype as DType
    from clew.core.node import Node
    from clew.core.storage import Storage
    from clew.core.tensor import Tensor, View

Place = tuple[CodeType, int] | None


class Freed:
    """Stands where saved tensors were, after a backward has used and dropped them."""

    __slots__ = ("where",)

    def __init__(self, where: Place) -> None:
        self.where = where


def shape_list(shape: Sequence[int]) -> str:
    return "[" + ", ".join(map(str, shape)) + "]"


# What to do where only real numbers are taken.
BY_PARTS = "\n  Give it real numbers: x.real, x.imag or x.abs()"

# What leads to the user's line in a message.
AT = "\n  at "


def at_user_line() -> str:
    """A closing line that names the user's line that is running now."""
    where = user_where()
    return "" if where is None else f"{AT}{describe(where)}"


def in_module(node: Node) -> str:
    """The end of a sentence that names the module whose forward made a node, if one did."""
    return f" in module {node.module_path}" if node.module_path else ""


def inference_saved() -> RuntimeError:
    return RuntimeError(
        "Inference tensors cannot be saved for backward. Please do not use Tensors created in "
        "inference mode in computation tracked by autograd. To work around this, you can make a "
        "clone to get a normal tensor and use it in autograd, or use `torch.no_grad()` instead of "
        "`torch.inference_mode()`." + at_user_line()
    )


def inference_requires_grad() -> RuntimeError:
    return RuntimeError(
        "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed."
        + at_user_line()
    )


def inference_inplace() -> RuntimeError:
    return RuntimeError(
        "Inplace update to inference tensor outside InferenceMode is not allowed."
        "You can make a clone to get a normal tensor before doing inplace update." + at_user_line()
    )


def modified_in_place(
    node: Node,
    name: str,
    kind: str,
    storage: Storage,
    version: int,
    edge: tuple[Node, int] | None,
) -> RuntimeError:
    """Backward needs a tensor that was overwritten after it was saved.

    `kind` is its type and shape, `edge` the step that made it and which of the outputs it is.
    """
    made_by = ""
    if edge is not None and not edge[0].is_accumulator:
        made_by = f", which is output {edge[1]} of {operation_name(edge[0])},"
    writer = storage.writer or "a write"
    lines = [
        "one of the variables needed for gradient computation has been modified by an inplace "
        f"operation: [{kind}]"
        f"{made_by} is at version {storage.version}; expected version {version} instead.",
        f"  saved as `{name}` by {node._name()} at {describe(node._where)}{in_module(node)}",
        f"  overwritten by `{writer}` at {describe(storage.written_at)}",
        f"  needed by backward at {describe(user_where())}",
        f"  Write a new tensor instead of changing this one ({_out_of_place_advice(writer)}), or "
        "clone it before the write.",
    ]
    return RuntimeError("\n".join(lines))


_OPERATORS = {"add_": "+", "sub_": "-", "mul_": "*", "div_": "/"}


def _out_of_place_advice(writer: str) -> str:
    sign = _OPERATORS.get(writer)
    if sign is not None:
        return f"`x = x {sign} y` for `x {sign}= y`"
    if "array" in writer:
        return "write to a copy of the array: `x.numpy().copy()`"
    if "optimizer" in writer.lower():
        return "call backward before the optimizer's step"
    if writer == "zero_":
        return "`x = torch.zeros_like(x)` for `x.zero_()`"
    if writer in ("copy_", "fill_", "index_put_"):
        return "`torch.where` or `torch.cat` for an assignment to a part"
    if writer.endswith("_") and not writer.startswith("_"):
        return f"`x = x.{writer[:-1]}(...)` for `x.{writer}(...)`"
    return "an operation that returns its result"


def pack_hook_wrote(storage: Storage) -> RuntimeError:
    return RuntimeError(
        "A saved tensor pack hook is modifying its input in place. Tensors provided as input to "
        "pack hook cannot be modified by in-place operations as this can lead to unexpected "
        f"side-effects.\n  `{storage.writer}` wrote to it at {describe(storage.written_at)}"
    )


def saved_hooks_refused(why: str) -> RuntimeError:
    return RuntimeError(f"Calling register_hooks on a saved tensor {why}" + at_user_line())


def warn_untracked_write(
    node: Node, name: str, array: np.ndarray, write: tuple[int, str, Place]
) -> None:
    """Backward uses a tensor that was overwritten by means that autograd does not count."""
    _, writer, where = write
    warnings.warn(
        f"a tensor needed for gradient computation was overwritten behind autograd's back: "
        f"[{array.dtype.name} {shape_list(array.shape)}], which is `{name}` of {node._name()}. The "
        "gradient is computed from the new values.\n"
        f"  saved by {node._name()} at {describe(node._where)}{in_module(node)}\n"
        f"  overwritten through {writer} at {describe(where)}\n"
        "  Write to the tensor itself under `torch.no_grad()`, and autograd will check it; or "
        "clone it before the write.",
        stacklevel=user_stacklevel(),
    )


def backward_twice(node: Node, freed: Freed) -> RuntimeError:
    observer = active.observer
    if observer is not None:
        observer.backward_twice(node, freed.where)
    return RuntimeError(
        "Trying to backward through the graph a second time (or directly access saved tensors "
        "after they have already been freed). Saved intermediate values of the graph are freed "
        "when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to "
        "backward through the graph a second time or if you need to access saved tensors after "
        "calling backward.\n"
        f"  The shared node is {node._name()}, built at {describe(node._where)}{in_module(node)}\n"
        f"  freed by the backward at {describe(freed.where)}\n"
        f"  asked for again at {describe(user_where())}\n"
        "  If that line runs once but backward runs in a loop, move it into the loop. If it "
        "carries state from one step to the next, detach the state between steps. For two losses "
        "over one graph, call (loss1 + loss2).backward(). retain_graph=True is rarely what is "
        "wanted: it keeps every step's graph alive."
    )


def nan_in_backward(node: Node, number: int) -> RuntimeError:
    """Anomaly mode: a node returned NaN."""
    return RuntimeError(
        f"Function '{node._name()}' returned nan values in its {number}th output.\n"
        f"  The forward call was {describe(node._where)}{in_module(node)}"
    )


def no_history(index: int, explanation: str) -> RuntimeError:
    return RuntimeError(
        f"element {index} of tensors does not require grad and does not have a grad_fn\n"
        f"  {explanation}\n"
        "  Setting requires_grad on the loss itself hides this error and trains nothing."
    )


def leaf_in_place(op: str, is_view: bool, tense: str = "is being") -> RuntimeError:
    what = "a view of a leaf Variable" if is_view else "a leaf Variable"
    return RuntimeError(
        f"{what} that requires grad {tense} used in an in-place operation.\n"
        f"  `{op}` writes to a leaf at {describe(user_where())}\n"
        "  To update a parameter, write inside `with torch.no_grad():`. `p = p - lr * p.grad` is "
        "not the same: it makes p a non-leaf, and its next .grad is None."
    )


def leaf_moved_inside(accumulator: Node, node: Node) -> RuntimeError:
    return RuntimeError(
        "leaf variable has been moved into the graph interior\n"
        f"  It was a leaf when it was used at {describe(accumulator._where)}; since then it was "
        f"written to at {describe(node._where)}"
    )


def not_a_leaf(requires_grad: bool) -> RuntimeError:
    """`requires_grad` of a result follows from what it was made of."""
    advice = "" if requires_grad else (
        " If you want to use a computed variable in a subgraph that doesn't require "
        "differentiation use var_no_grad = var.detach()."
    )  # fmt: skip
    return RuntimeError(
        "you can only change requires_grad flags of leaf variables." + advice + at_user_line()
    )


def tangent_size(shape: Sequence[int], tangent: Sequence[int]) -> RuntimeError:
    return RuntimeError(
        "Trying to set a forward gradient that has a different size than that of the original "
        f"Tensor, this is not supported. Tensor is of size {shape_list(shape)} while the given "
        f"forward gradient is of size {shape_list(tangent)}." + at_user_line()
    )


def operation_name(node: Node) -> str:
    """The operation of a node as PyTorch's messages name it: `Add`, `Sum1`."""
    return re.sub(r"Backward0?(\d*)$", r"\1", node._name().rpartition("::")[2])


def forbidden_view(view: View, tensor: Tensor, what: str) -> RuntimeError:
    """A view must not be written to; `what` says to which tensor it happens."""
    node = tensor._node
    made_by = None
    if node is not None and not node.is_accumulator:
        made_by = f"Output {tensor._output_nr} of {operation_name(node)} is a view"
    kind = view.kind
    if kind in ("no_grad", "inference") or made_by is None:
        by = "A view was" if made_by is None else f"{made_by} of a view which was"
        mode, now = (
            ("inference mode", "in normal mode")
            if kind == "inference"
            else ("no_grad mode", "with grad mode enabled")
        )
        text = f"{by} created in {mode} and {what} modified inplace {now}."
    else:
        text = f"{made_by} and {what} modified inplace."
    if kind == "multi":
        return RuntimeError(
            f"{text} This view is the output of a function that returns multiple views. Such "
            "functions do not allow the output views to be modified inplace. You should replace "
            "the inplace operation by an out-of-place one."
        )
    if kind == "custom":
        return RuntimeError(
            f"{text} This view was created inside a custom Function (or because an input was "
            "returned as-is) and the autograd logic to handle view+inplace would override the "
            "custom backward associated with the custom Function, leading to incorrect gradients. "
            "This behavior is forbidden. You can fix this by cloning the output of the custom "
            "Function."
        )
    block = "inference_mode" if kind == "inference" else "no_grad"
    return RuntimeError(
        f"{text} Given that this use case is ambiguous and error-prone, it is forbidden. You can "
        "clarify your code by moving both the view and the inplace either both inside the "
        f"{block} block (if you don't want the inplace to be tracked) or both outside (if you want "
        "the inplace to be tracked)."
    )


def in_place_shape(target: Sequence[int], result: Sequence[int]) -> RuntimeError:
    return RuntimeError(
        f"output with shape {shape_list(target)} doesn't match the broadcast shape "
        f"{shape_list(result)}" + at_user_line()
    )


def in_place_dtype(result: str, target: str) -> RuntimeError:
    return RuntimeError(
        f"result type {result} can't be cast to the desired output type {target}" + at_user_line()
    )


def scalar_overflow(c_name: str) -> RuntimeError:
    return RuntimeError(
        f"value cannot be converted to type {c_name} without overflow" + at_user_line()
    )


def storage_overflow(sizes: Sequence[int]) -> RuntimeError:
    text = "Storage size calculation overflowed with sizes=" + shape_list(sizes)
    return RuntimeError(("Stride calculation overflowed" if 0 in sizes else text) + at_user_line())


def overlapping_write() -> RuntimeError:
    return RuntimeError(
        "unsupported operation: more than one element of the written-to tensor refers to a single "
        "memory location. Please clone() the tensor before performing the operation."
        + at_user_line()
    )


def partial_overlap() -> RuntimeError:
    return RuntimeError(
        "unsupported operation: some elements of the input tensor and the written-to tensor refer "
        "to a single memory location. Please clone() the tensor before performing the operation."
        + at_user_line()
    )


def broadcast_mismatch(op: str, a: Sequence[int], b: Sequence[int]) -> RuntimeError | None:
    """The error for two shapes that do not broadcast, or None when they do."""
    longest = max(len(a), len(b))
    for back in range(1, longest + 1):
        size_a = a[-back] if back <= len(a) else 1
        size_b = b[-back] if back <= len(b) else 1
        if size_a != size_b and size_a != 1 and size_b != 1:
            return RuntimeError(
                f"The size of tensor a ({size_a}) must match the size of tensor b ({size_b}) at "
                f"non-singleton dimension {longest - back}\n"
                f"  `{op}` got shapes {shape_list(a)} and {shape_list(b)}"
                f"{at_user_line()}"
            )
    return None


def loss_shapes(function: str, input: Sequence[int], target: Sequence[int]) -> ValueError:
    """Input and target of a loss broadcast to a third shape, or to one of theirs."""
    result = np.broadcast_shapes(tuple(input), tuple(target))
    return ValueError(
        f"Using a target size (torch.Size({shape_list(target)})) that is different to the input "
        f"size (torch.Size({shape_list(input)})). This will likely lead to incorrect results due "
        f"to broadcasting: `{function}` would compare {math.prod(result)} pairs of shape "
        f"{shape_list(result)}.\n  {_same_shape_advice(list(input), list(target), list(result))}"
        + at_user_line()
    )


def _same_shape_advice(input: list[int], target: list[int], result: list[int]) -> str:
    for dim in range(max(len(input), len(target))):
        if input[:dim] + [1] + input[dim:] == target:
            return (
                f"Write `target.squeeze({dim})`, or `input.unsqueeze({dim})`, and both have the "
                "same shape. " + _BROADCAST
            )
        if target[:dim] + [1] + target[dim:] == input:
            return (
                f"Write `target.unsqueeze({dim})`, or `input.squeeze({dim})`, and both have the "
                "same shape. " + _BROADCAST
            )
    if result == input:
        return "If the target is meant to be repeated: `target.expand_as(input)`."
    if result == target:
        return (
            "The input has fewer elements than the target: check the size of the last layer. If "
            "the input is meant to be repeated: `input.expand_as(target)`."
        )
    return _BROADCAST


_BROADCAST = (
    "If all pairs are meant, say so: `input, target = torch.broadcast_tensors(input, target)`."
)


def dimension_out_of_range(dim: int, ndim: int) -> IndexError:
    low, high = (-ndim, ndim - 1) if ndim else (-1, 0)
    return IndexError(
        f"Dimension out of range (expected to be in range of [{low}, {high}], but got {dim})"
        + at_user_line()
    )


def no_kernel(torch_kernel: str, dtype: DType, advice: str = "") -> NotImplementedError:
    """PyTorch's kernel of that name does not take a dtype; as a rule, float32 is what it takes."""
    if not advice:
        advice = "Convert first: x.float()"
        if dtype.is_complex:
            advice = BY_PARTS.strip()
    return NotImplementedError(
        f"\"{torch_kernel}\" not implemented for '{dtype.scalar_name}'\n  {advice}" + at_user_line()
    )


def operator_of_other(name: str, value: object) -> TypeError:
    """An operator's method, taken from the class, was given something else for `self`."""
    return TypeError(
        f"descriptor '{name}' for 'torch._C.TensorBase' objects doesn't apply to a "
        f"'{type(value).__name__}' object" + at_user_line()
    )


def not_differentiable(op: str, argument: str, why: str) -> RuntimeError:
    return RuntimeError(
        f"the derivative for '{argument}' of '{op}' is not implemented: {why}" + at_user_line()
    )


class Warnings:
    """Whether warnings that a process gives once are given each time."""

    always = False
    given: ClassVar[set[str]] = set()


def warn_once(text: str, about: str = "") -> None:
    """Warn once in a process, and `about` one thing, unless `set_warn_always` says otherwise."""
    if Warnings.always or (about or text) not in Warnings.given:
        Warnings.given.add(about or text)
        warnings.warn(text, stacklevel=user_stacklevel())


def warn_of_complex32() -> None:
    """Warn of a dtype that most operations refuse."""
    warn_once("ComplexHalf support is experimental and many operators don't support it yet.")


# Where functions are wrapped, which then say themselves which argument is wrong.
_WRAPPING = ("clew.core.public", "clew.core.arguments", "clew.ops.define.rows")


def own_frames() -> list[FrameType]:
    """The frames between the caller's caller and the user's program, innermost first.

    Without those that look for classes and modes that take functions over.
    """
    frames: list[FrameType] = []
    frame: FrameType | None = _getframe(2)
    while frame is not None and frame.f_globals.get("__package__") in INTERNAL_PACKAGES:
        looks = frame.f_code.co_filename == LOOKS_FIRST
        if not looks and frame.f_globals["__name__"] != "clew.core.overrides":
            frames.append(frame)
        frame = frame.f_back
    return frames


def is_function_call() -> bool:
    """Whether the program called a function, and not a method of a tensor."""
    frames = own_frames()
    return bool(frames) and is_wrapper(frames[-1])


def is_wrapper(frame: FrameType) -> bool:
    """Whether a frame is of a wrapper that public functions have."""
    return frame.f_globals["__name__"] in _WRAPPING


def kind_name(value: object) -> str:
    """The type of an argument as messages name it."""
    kind = type(value)
    return f"numpy.{kind.__name__}" if kind.__module__ == "numpy" else kind.__name__


def missing_argument(function: str, name: str) -> TypeError:
    """`x.permute()`: nothing was given where sizes or dimensions are needed."""
    return TypeError(
        f'{function}() missing 1 required positional arguments: "{name}"' + at_user_line()
    )


def no_dimensions(dim: int) -> IndexError:
    return IndexError(f"Dimension specified as {dim} but tensor has no dimensions" + at_user_line())


def outside_data(indices: np.ndarray, size: int) -> RuntimeError:
    """An index along a dimension of another size, where PyTorch's kernel copies whole blocks."""
    wrong = next(i for i in indices.ravel().tolist() if not 0 <= i < size)
    return RuntimeError(
        f"INDICES element is out of DATA bounds, id={wrong} axis_dim={size}" + at_user_line()
    )


def wrong_argument(
    function: str, name: str, position: int | None, expected: str, got: Any, element: int = -1
) -> TypeError:
    """An argument of a wrong type; one given by name has no position, an element has an index."""
    place = "" if position is None else f" (position {position})"
    found = f"not {kind_name(got)}"
    if element >= 0:
        found = f"but found element of type {type(got[element]).__name__} at pos {element}"
    return TypeError(
        f"{function}(): argument '{name}'{place} must be {expected}, {found}" + at_user_line()
    )
