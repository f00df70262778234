"""What results are exactly, where PyTorch is off: by mpmath, or by PyTorch in a wider dtype."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import torch
from torch.utils._pytree import tree_map_only

from . import oracle
from .tensors import is_inexact, rounded_once, tensors_in, to_numpy

Function = Callable[..., Any]


def _elementwise(function: Callable[[float], Any]) -> Function:
    def call(input: torch.Tensor) -> torch.Tensor:
        kind = input.dtype if input.dtype.is_floating_point else torch.float32
        values = [_number(function, float(x)) for x in input.flatten().tolist()]
        return torch.tensor(values, dtype=torch.float64).reshape(input.shape).to(kind)

    return call


def _number(function: Callable[[float], Any], x: float) -> float:
    value = function(x)
    return float(mpmath.re(value)) if not mpmath.im(value) else float("nan")


def _kaiser(M: int, **kwargs: Any) -> torch.Tensor:
    kind = kwargs.pop("dtype", None) or torch.get_default_dtype()
    return torch.signal.windows.kaiser(M, dtype=torch.float64, **kwargs).to(kind)


_EXACT: dict[str, Function] = {
    "special.airy_ai": _elementwise(mpmath.airyai),
    "special.bessel_j0": _elementwise(lambda x: mpmath.besselj(0, x)),
    "special.bessel_j1": _elementwise(lambda x: mpmath.besselj(1, x)),
    "special.bessel_y0": _elementwise(lambda x: mpmath.bessely(0, x)),
    "special.bessel_y1": _elementwise(lambda x: mpmath.bessely(1, x)),
    "signal.windows.kaiser": _kaiser,
}


def exactly(theirs: Function, name: str) -> Function:
    """A torch function with the op's exact results, rounded once."""
    return _EXACT.get(name) or _of_integers(rounded_once(theirs))


def _of_integers(theirs: Function) -> Function:
    """Integers, which torch computes in the default dtype, are computed in float64."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if any(is_inexact(t) for t in tensors_in((args, kwargs))):
            return theirs(*args, **kwargs)
        torch.set_default_dtype(torch.float64)
        try:
            result = theirs(*args, **kwargs)
        finally:
            torch.set_default_dtype(torch.float32)
        back = {torch.float64: torch.float32, torch.complex128: torch.complex64}
        return tree_map_only(torch.Tensor, lambda t: t.to(back.get(t.dtype, t.dtype)), result)

    return call


def is_as_exact(theirs: Function, ours: Function, sample: Any, name: str) -> bool:
    """Whether clew's largest error is at most twice torch's, since both round, in their order."""
    given = (sample.input, *sample.args), sample.kwargs
    found = []
    for function in (exactly(theirs, name), theirs):
        oracle.seed_torch()
        found.append(tensors_in(function(*given[0], **given[1])))
    ours_in = oracle.to_clew(given)
    oracle.seed_clew()
    results = tensors_in(ours(*ours_in[0], **ours_in[1]))
    trios = zip(results, *found, strict=True)
    return all(_as_near(mine, exact, other) for mine, exact, other in trios)


def _as_near(mine: Any, exact: torch.Tensor, other: torch.Tensor) -> bool:
    if not is_inexact(exact):
        return np.array_equal(to_numpy(mine), to_numpy(exact))
    arrays = [to_numpy(each).astype(np.complex128) for each in (mine, exact, other)]
    if any(each.shape != arrays[0].shape for each in arrays):
        return False
    # What is too large for the dtype on the way may be so for one library, or for both.
    is_finite = [np.isfinite(each) for each in arrays]
    if not any(np.array_equal(is_finite[0], each) for each in is_finite[1:]):
        return False
    finite = np.logical_and.reduce(is_finite)
    errors = [np.abs(each - arrays[1])[finite].max(initial=0) for each in (arrays[0], arrays[2])]
    return bool(errors[0] <= 2 * errors[1])
