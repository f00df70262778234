"""Why a tensor has no history, in words."""

from __future__ import annotations

from clew import errors
from clew.core.tensor import NoHistory, Tensor


def why_no_history(tensor: Tensor) -> str:
    """One sentence on why backward cannot start here, with the line that cut the graph."""
    reason = tensor._reason
    if reason is None:
        return (
            "Nothing that it was computed from requires grad: the parameters are frozen, or none "
            "was used."
        )
    return _SENTENCES[reason.kind](reason) + _ancestor(reason)


def _ancestor(reason: NoHistory) -> str:
    if reason.ancestor is None:
        return ""
    name, where = reason.ancestor
    return f" The last step with a history was {name} at {errors.describe(where)}."


_SENTENCES = {
    "no_grad": lambda r: f"It was computed under `{r.op}`, entered at {errors.describe(r.where)}.",
    "detach": lambda r: f"`{r.op}` cut its history at {errors.describe(r.where)}.",
    "not differentiable": lambda r: (
        f"`{r.op}` has no derivative (its result is not a smooth function of its input); it was "
        f"called at {errors.describe(r.where)}."
    ),
    "numpy": lambda r: (
        f"It was made from numbers, which carry no history, at {errors.describe(r.where)}. {r.op}"
    ),
}
