"""Why a tensor has no history, and why a tensor has no gradient, in words."""

from __future__ import annotations

from collections.abc import Iterator

from clew import errors
from clew.core.engine import reachable
from clew.core.no_history import CUTS, NoHistory
from clew.core.node import ACCUMULATE_SEQUENCE, AccumulateGrad
from clew.core.state import local
from clew.core.tensor import Tensor


def why_no_history(tensor: Tensor) -> str:
    """One sentence on why backward cannot start here, with the line that cut the graph."""
    reason = tensor._reason
    if reason is None and tensor._view is not None and tensor._view.borrows:
        return "It is a view that was made before its base was asked to require grad."
    if reason is None:
        return (
            "Nothing that it was computed from has ever required grad: no parameter was used, or "
            "all were made with requires_grad=False."
        )
    return _SENTENCES[reason.kind](reason) + _ancestor(reason)


def _ancestor(reason: NoHistory) -> str:
    if reason.ancestor is None:
        return ""
    name, where = reason.ancestor
    if name.endswith("AccumulateGrad"):
        return f" It was cut off from a leaf, first used at {errors.describe(where)}."
    return f" The last step with a history was {name} at {errors.describe(where)}."


_SENTENCES = {
    "no_grad": lambda r: f"It was computed under `{r.op}`, entered at {errors.describe(r.where)}.",
    "detach": lambda r: f"`{r.op}` cut its history at {errors.describe(r.where)}.",
    "frozen": lambda r: (
        f"What it was computed from is frozen: `{r.op}` at {errors.describe(r.where)}."
    ),
    "gradient": lambda r: (
        f"It was computed from a gradient whose computation was not recorded: `{r.op}` at "
        f"{errors.describe(r.where)}."
    ),
    "not differentiable": lambda r: (
        f"`{r.op}` has no derivative (its result is not a smooth function of its input); it was "
        f"called at {errors.describe(r.where)}."
    ),
    "numpy": lambda r: (
        f"`{r.op}` made it from numbers, which carry no history, at {errors.describe(r.where)}. "
        f"Values last left the graph through `{r.left_through}` at {errors.describe(r.left_at)}."
    ),
}


def why_no_grad(tensor: Tensor) -> str:
    """Why `tensor.grad` is None: one of several cases, with the lines that made it so.

    The answer begins with the case: "non-leaf", "frozen", "cut", "unreached", "not yet backward",
    "cleared", or "has a gradient".
    """
    if tensor._grad is not None:
        return "has a gradient: .grad is not None."
    if not tensor.requires_grad:
        return _without_history(tensor)
    node = tensor.grad_fn
    if node is not None:
        return (
            f"non-leaf: {node._name()} made it at {errors.describe(node._where)}. Backward fills "
            ".grad of leaves only: ask for the leaf's, or call .retain_grad() on this tensor "
            "before backward."
        )
    accumulator = tensor._node
    if not isinstance(accumulator, AccumulateGrad):
        return (
            "unreached: no operation that records history has used it. Is it this tensor that the "
            "forward uses, and not a copy?"
        )
    return _why_leaf_has_none(accumulator)


def _without_history(tensor: Tensor) -> str:
    if tensor._reason is None or tensor._reason.kind == "frozen":
        set_at = "" if tensor._reason is None else f" since {errors.describe(tensor._reason.where)}"
        return (
            f"frozen: requires_grad is False{set_at}. Call .requires_grad_() before it is used, if "
            "a gradient is wanted."
        )
    return f"cut: {why_no_history(tensor)}"


def _why_leaf_has_none(accumulator: AccumulateGrad) -> str:
    first_use = errors.describe(accumulator._where)
    last = local.state.last_backward
    if last is None or last[0] < ACCUMULATE_SEQUENCE - accumulator._seq:
        return f"not yet backward: it was first used at {first_use}, and no backward has run since."
    where = last[1]
    if accumulator.reached_by is last:
        return (
            f"cleared: the last backward, at {errors.describe(where)}, gave it a gradient, and "
            ".grad was set to None since."
        )
    found = "".join(f"\n  {text}" for text in _cuts_behind(accumulator))
    return (
        f"unreached: it was first used at {first_use}, but no path leads to it from the last "
        f"backward, at {errors.describe(where)}." + (found and f" History was cut here:{found}")
    )


def _cuts_behind(accumulator: AccumulateGrad) -> Iterator[str]:
    """Cuts that may lie between a loss and a leaf, newest first: those known to if there are any.

    A cut-off graph that nobody holds any more cannot be searched; such a cut is a candidate.
    """
    certain, possible = [], []
    for reason, reference in reversed(CUTS):
        node = reference()
        if node is None:
            possible.append(reason)
        elif any(each is accumulator for each in reachable([node])):
            certain.append(reason)
    for reason in (certain or possible)[:3]:
        yield _SENTENCES[reason.kind](reason) + _ancestor(reason)
