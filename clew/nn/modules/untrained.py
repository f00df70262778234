"""The warning about an attribute that looks like a parameter and is none.

`self.w = nn.Parameter(torch.randn(3)).to(torch.float64)` registers nothing: the attribute is the
result of `to`, the parameter itself is gone after the line, and no optimizer will ever see it.
"""

from __future__ import annotations

import sys
import warnings
from types import FrameType
from typing import TYPE_CHECKING

from clew import errors
from clew.core.node import AccumulateGrad, Node
from clew.core.tensor import Tensor, View

if TYPE_CHECKING:
    from clew.nn.modules.module import Module

# Longer histories are computations with a purpose of their own.
_LONGEST_HISTORY = 8
# Where references are not counted, everything is taken to be in use.
_getrefcount = getattr(sys, "getrefcount", lambda _: 1 << 30)


def warn_if_untrained(module: Module, name: str, value: Tensor) -> None:
    """Warn when `__init__` sets an attribute to something computed from a lost leaf alone."""
    node = value.grad_fn
    if node is None or not _is_lost(value, node) or not _in_init(module):
        return
    op = node._name().removesuffix("Backward0")
    warnings.warn(
        f"`self.{name}` of {type(module).__name__} is not a parameter and will not be trained: it "
        f"is the result of an operation ({op}) on a leaf that nothing refers to any more, so no "
        "optimizer will see either of them.\n"
        f"  computed at {errors.describe(node._where)}\n"
        f"  Compute first and wrap last: `self.{name} = nn.Parameter(...)` around the whole value.",
        stacklevel=4,
    )


def _is_lost(value: Tensor, node: Node) -> bool:
    """Whether all leaves in a short history are gone, so that no gradient can be used."""
    todo, seen, leaves = [node], {node}, 0
    while todo:
        current = todo.pop()
        for edge in current._edges:
            if edge is None or edge[0] in seen:
                continue
            source = edge[0]
            seen.add(source)
            if not isinstance(source, AccumulateGrad):
                todo.append(source)
            elif not _is_gone(source, value):
                return False
            else:
                leaves += 1
        if len(seen) > _LONGEST_HISTORY:
            return False
    return leaves > 0


def _is_gone(leaf: AccumulateGrad, value: Tensor) -> bool:
    """Whether a leaf is held by nothing, or only as the base of the view that `value` is."""
    tensor = leaf._variable()
    if tensor is None:
        return True
    view = value._view
    if view is None or view.base is not tensor:
        return False
    references = 2  # the variable here and the argument of the count
    link: View | None = view
    while link is not None:
        references += 1
        link = link.parent
    return _getrefcount(tensor) <= references


def _in_init(module: Module) -> bool:
    """Whether the module's own `__init__` is running."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        code = frame.f_code
        is_init = code.co_name == "__init__" and code.co_argcount > 0
        if is_init and frame.f_locals.get(code.co_varnames[0]) is module:
            return True
        frame = frame.f_back
    return False
