"""The catalogue of errors, continued: custom functions."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from clew.core.accumulating import WRONG_KIND
from clew.errors import at_user_line, in_module, shape_list
from clew.source import describe

if TYPE_CHECKING:
    from clew.core.node import Node
    from clew.core.storage import Storage
    from clew.core.tensor import Tensor


def _applied(node: Node) -> str:
    return f"\n  {node._name()} was applied at {describe(node._where)}{in_module(node)}"


def _written(storage: Storage) -> str:
    return f"`{storage.writer or 'a write'}` at {describe(storage.written_at)}"


def undeclared_write(node: Node, index: int, storage: Storage) -> RuntimeError:
    return RuntimeError(
        f"{node._name()}: forward modified its input {index} in place without ctx.mark_dirty. The "
        "input requires grad, and the graph does not know that its values have changed: gradients "
        f"through it would be wrong.\n  It was overwritten by {_written(storage)}{_applied(node)}\n"
        "  Say `ctx.mark_dirty(x)` in forward and return x itself, or write to a clone: "
        "`x = x.clone()`."
    )


def warn_undeclared_write(node: Node, index: int, storage: Storage) -> None:
    warnings.warn(
        f"{node._name()}: forward modified its input {index} in place (last by {_written(storage)})"
        " and returned it without ctx.mark_dirty: the output has a history, but the input itself, "
        "which now holds the same values, has none.",
        stacklevel=5,
    )


def warn_scratched_input(node: Node, index: int, storage: Storage) -> None:
    warnings.warn(
        f"{node._name()}: forward modified its input {index} in place (last by "
        f"{_written(storage)}) without ctx.mark_dirty. Whoever uses that input from here on has "
        "other values than the graph knows of: write to a clone.",
        stacklevel=5,
    )


def say_undeclared_write(node: Any, index: int, tensor: Tensor, returned: bool) -> None:
    """Raise or warn, by what depends on an input that forward wrote to without saying so."""
    if node.needs_input_grad[index] and (returned or tensor.is_leaf):
        raise undeclared_write(node, index, tensor._storage)
    if node.needs_input_grad[index]:
        warn_scratched_input(node, index, tensor._storage)
    else:
        warn_undeclared_write(node, index, tensor._storage)


def saved_as_is(node: Node) -> RuntimeError:
    return RuntimeError(
        "An input that has been returned as-is as output is being saved for backward. This is not "
        "supported if you override setup_context. You should return and save a view of the input "
        "instead, e.g. with x.view_as(x) or setup ctx inside the forward function itself.\n"
        f"  In {node._name()}" + at_user_line()
    )


def dirty_not_returned(node: Node) -> RuntimeError:
    return RuntimeError(
        "Some elements marked as dirty during the forward method were not returned as "
        "output. The inputs that are modified inplace must all be outputs of the Function."
        + _applied(node)
    )


def dirty_not_input(node: Node) -> str:
    return (
        "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have "
        f"been mutated should be passed to ctx.mark_dirty().{_applied(node)}"
    )


def dirty_view_among_others(node: Node) -> RuntimeError:
    return RuntimeError(
        "If your Function modifies inplace an input that is a view of another Tensor, your "
        "Function cannot return more than one Tensor. This is not supported by the current "
        "autograd engine. You should either make sure the input is not a view (using .clone() for "
        "example) or make your Function only return one Tensor (potentially splitting it into two "
        "Functions: one doing the inplace that returns a single Tensor and a second one that does "
        f"the other operations).{_applied(node)}"
    )


def warn_marked_not_output(node: Node) -> None:
    warnings.warn(
        "ctx.mark_non_differentiable() received a tensor that forward did not return, so it has no "
        "effect. Mark the outputs themselves, not what they are computed from; for an input "
        f"without a gradient, return None in backward.{_applied(node)}",
        stacklevel=4,
    )


def not_a_tensor_to_mark(text: str, value: Any) -> RuntimeError:
    return RuntimeError(f"{text} {type(value).__name__}" + at_user_line())


def not_a_tensor_to_save(index: int, value: Any) -> TypeError:
    advice = "Keep other values as attributes of ctx."
    if isinstance(value, list | tuple):
        advice = "Give the tensors one by one: `ctx.save_for_backward(*tensors)`."
    return TypeError(
        f"save_for_backward can only save variables, but argument {index} is of type "
        f"{type(value).__name__}\n  {advice}" + at_user_line()
    )


def intermediate_saved(node: Node, function: str, saved_as: str) -> RuntimeError:
    how = " without save_for_backward" if saved_as.startswith("ctx.") else ""
    return RuntimeError(
        f"{function}: the gradient of its gradient is asked for, but backward uses `{saved_as}`, "
        f"which forward computed from inputs that require grad and kept{how}. It is neither an "
        "input nor an output of forward, so it has no history: the part of the second derivative "
        "that goes through it would be silently missing.\n"
        f"  {function} was applied at {describe(node._where)}{in_module(node)}\n"
        "  Save the inputs and compute it again in backward, or return it as a further output. If "
        "second derivatives are not wanted, mark backward with @once_differentiable; if this "
        "tensor is meant to be a constant, keep `t.detach()`."
    )


def attribute_overwritten(
    node: Node, name: str, shape: Sequence[int], storage: Storage
) -> RuntimeError:
    return RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace "
        f"operation: {shape_list(shape)}, which is `ctx.{name}` of {node._name()}.\n"
        f"  overwritten by {_written(storage)}{_applied(node)}\n"
        f"  Keep it by ctx.save_for_backward, not as an attribute, and write a new tensor instead "
        "of changing this one, or keep a clone of it."
    )


def warn_attribute_overwritten(node: Node, name: str, storage: Storage) -> None:
    warnings.warn(
        f"`ctx.{name}` of {node._name()} was overwritten since forward, by {_written(storage)}; "
        "backward sees the new values. Give it to ctx.save_for_backward and such writes raise, or "
        f"keep a clone of it.{_applied(node)}",
        stacklevel=4,
    )


def shared_gradient_written(node: Node, storage: Storage) -> RuntimeError:
    return RuntimeError(
        f"{node._name()}: backward modified the gradient that it was given in place "
        f"({_written(storage)}). Another path of this graph has the same memory as its gradient, "
        f"which is wrong now.{_applied(node)}\n"
        "  Write to a clone: `grad = grad_output.clone()`."
    )


def warn_gradient_written(node: Node, storage: Storage) -> None:
    warnings.warn(
        f"{node._name()}: backward wrote to the gradient that it was given ({_written(storage)}). "
        "Here nobody else needed that memory, but in another graph other paths may share it: "
        "write to a clone.",
        stacklevel=4,
    )


def wrong_number_of_gradients(node: Node, expected: int, got: int) -> RuntimeError:
    return RuntimeError(
        f"function {node._name()} returned an incorrect number of gradients (expected {expected}, "
        f"got {got}){_applied(node)}\n"
        "  backward returns one gradient per argument of forward (ctx not counted), None for "
        "arguments that have none."
    )


def gradient_of_wrong_type(node: Node, index: int, value: Any) -> RuntimeError:
    return RuntimeError(
        f"expected Variable or None (got {type(value).__name__})\n"
        f"  It is gradient {index} that backward returned.{_applied(node)}"
    )


def gradient_of_no_tensor(node: Node, index: int) -> RuntimeError:
    return RuntimeError(
        f"function {node._name()} returned a gradient different than None at position {index + 1}, "
        f"but the corresponding forward input was not a Variable{_applied(node)}\n"
        "  Return None there."
    )


def gradient_of_wrong_shape(
    node: Node, index: int, got: Sequence[int], expected: Sequence[int]
) -> RuntimeError:
    return RuntimeError(
        f"Function {node._name()} returned an invalid gradient at index {index} - got "
        f"{shape_list(got)} but expected shape compatible with {shape_list(expected)}"
        + _applied(node)
    )


def gradient_of_wrong_dtype(node: Node, index: int, is_complex: bool) -> RuntimeError:
    what = (
        "complex, and the input is real: return its real part, `grad.real`"
        if is_complex
        else "of integers, and the input is complex: convert it"
    )
    return RuntimeError(
        f"{WRONG_KIND}\n  Gradient {index} of {node._name()} is {what}.{_applied(node)}"
    )
