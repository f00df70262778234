"""Functions of masked tensors that must be known as a whole: reductions, `where`, layouts."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from clew import errors, masked
from clew.backend.dtypes import bool_
from clew.core.tensor import Tensor
from clew.masked.maskedtensor.core import (
    FUNCTIONS,
    ConstructorOfResult,
    MaskedTensor,
    data_of,
    is_masked_tensor,
    made,
    mask_of,
)
from clew.masked.masks import reduced_dims

_REDUCTIONS = ("sum", "mean", "amax", "amin", "argmax", "argmin", "prod", "norm", "var", "std")


def _reduction(name: str) -> Callable[..., Any]:
    """A reduction of the elements that are there; its result is masked where there are none."""
    function = getattr(masked, name)

    def reduce(self: MaskedTensor, *args: Any, **kwargs: Any) -> Any:
        arguments = _arguments(name, args, kwargs)
        dim = arguments.pop("dim", None)
        keepdim = arguments.pop("keepdim", False)
        first = [arguments.pop("ord")] if name == "norm" else []
        data, mask = _parts(self, name, dim)
        result = function(data, *first, dim, keepdim=keepdim, mask=mask, **arguments)
        if name.startswith("arg"):
            result = result.type_as(data)
        return ConstructorOfResult.apply(result, _any(mask, dim, keepdim))

    return reduce


# In the order in which they may stand.
_ORDERS = {
    "norm": ("p", "dim", "keepdim", "dtype"),
    "var": ("dim", "unbiased", "keepdim"), "std": ("dim", "unbiased", "keepdim"),
}  # fmt: skip


def _arguments(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments by their names, as the functions of `clew.masked` have them."""
    names = _ORDERS.get(name, ("dim", "keepdim"))
    found = {**dict(zip(names, args, strict=False)), **kwargs}
    if name in ("var", "std"):
        if type(found.get("dim")) is bool:  # var(unbiased)
            found["unbiased"] = found.pop("dim")
        correction = found.pop("correction", None)
        found["unbiased"] = found.get("unbiased", True)
        if correction is not None:
            if correction not in (0, 1):
                raise ValueError(
                    f"{name} of a MaskedTensor takes a correction of 0 or 1" + errors.at_user_line()
                )
            found["unbiased"] = bool(correction)
    if name == "norm":
        order = found.pop("p", "fro")
        found["ord"] = 2.0 if order in ("fro", None) else order
    if found.get("dtype", 0) is None:
        del found["dtype"]
    return found


def _parts(tensor: MaskedTensor, name: str, dim: Any) -> tuple[Tensor, Tensor]:
    """Data and mask of a reduction; of sparse ones the values, whose places do not matter."""
    data, mask = tensor.get_data(), tensor.get_mask()
    if not tensor.is_sparse:
        return data, mask
    if dim is not None:
        raise TypeError(
            f"Multiple dispatch failed for 'torch.Tensor.{name}'; all __torch_function__ handlers "
            "returned NotImplemented: along a dimension, masked tensors are reduced where they are "
            "dense. Call `to_dense()` first." + errors.at_user_line()
        )
    return data.values(), mask.values()


def _any(mask: Tensor, dim: Any, keepdim: bool) -> Tensor:
    dims = reduced_dims(dim, mask.ndim)
    return mask.any(dims, keepdim) if dims else mask.clone()


def all_(self: MaskedTensor, dim: Any = None, keepdim: bool = False) -> Any:
    data, mask = _parts(self, "all", dim)
    dims = reduced_dims(dim, mask.ndim)
    true = data.bool().masked_fill(~mask, True)
    return made(true.all(dims, keepdim) if dims else true, _any(mask, dim, keepdim))


def where(condition: Any, input: Any, other: Any) -> Any:
    """Data and masks are chosen alike; a tensor without a mask is there everywhere."""
    if not (is_masked_tensor(input) or is_masked_tensor(other)):
        condition = condition.to_tensor(False)
        return condition.where(condition, input, other)
    chosen = data_of(condition)
    data = [x.get_data() if is_masked_tensor(x) else x for x in (input, other)]
    masks = [
        mask_of(x) if is_masked_tensor(x) else chosen.new_ones((), dtype=bool_)
        for x in (input, other)
    ]
    mask = masks[0].where(chosen, masks[1])
    values = data[0] if isinstance(data[0], Tensor) else data[1].new_tensor(data[0])
    return ConstructorOfResult.apply(values.where(chosen, data[1]), mask)


def contiguous(self: MaskedTensor, memory_format: Any = None) -> Any:
    return self if self.is_contiguous() else self.clone()


def to_dense(self: MaskedTensor, *args: Any, **kwargs: Any) -> Any:
    return made(self._masked_data.to_dense(), self._masked_mask.to_dense())


def to_sparse(self: MaskedTensor, *args: Any, **kwargs: Any) -> Any:
    """What is there, as COO tensors."""
    if self.is_sparse_coo():
        return self
    mask = self._masked_mask.to_dense().to_sparse().coalesce()
    return made(self._masked_data.to_dense().sparse_mask(mask), mask)


def to_sparse_csr(self: MaskedTensor, *args: Any, **kwargs: Any) -> Any:
    """What is there, as CSR tensors."""
    if self.is_sparse_csr():
        return self
    mask = self._masked_mask.to_dense().to_sparse_csr()
    return made(self._masked_data.to_dense().sparse_mask(mask), mask)


def register() -> None:
    """Fill the table of functions."""
    top = importlib.import_module("clew")
    table: dict[str, Callable[..., Any]] = {name: _reduction(name) for name in _REDUCTIONS}
    table |= {
        "all": all_, "where": where, "contiguous": contiguous, "to_dense": to_dense,
        "to_sparse": to_sparse, "to_sparse_csr": to_sparse_csr,
    }  # fmt: skip
    for name, function in table.items():
        for owner in (Tensor, top):
            original = getattr(owner, name, None)
            if original is not None:
                FUNCTIONS[original] = function
    FUNCTIONS[vars(Tensor)["where"]] = lambda self, condition, other: where(condition, self, other)
