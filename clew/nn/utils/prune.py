"""Pruning: parameters multiplied by masks of zeros and ones.

Pruning `weight` moves it to the parameter `weight_orig`, keeps the mask as a buffer `weight_mask`,
and computes `weight` from both before every forward. Pruning again adds to what is pruned already.
"""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from clew import errors
from clew.core.tensor import Tensor
from clew.nn.modules.module import Module
from clew.ops.create.constants import ones_like, zeros_like
from clew.ops.create.random import rand, rand_like
from clew.ops.reduce.norms import norm
from clew.ops.reduce.sorting import kthvalue, topk
from clew.ops.shape.joining import cat

Amount = int | float
P = TypeVar("P", bound="BasePruningMethod")
M = TypeVar("M", bound=Module)


# ---------------------------------------------------------------- the methods' base


class BasePruningMethod(ABC):
    """A forward pre-hook that applies a mask; subclasses say how the mask is computed."""

    PRUNING_TYPE: str
    """`unstructured` (single elements), `structured` (slices along `self.dim`) or `global`."""

    _tensor_name: str

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask by the importance scores `t`; what `default_mask` prunes stays pruned."""

    def apply_mask(self, module: Module) -> Tensor:
        """The original parameter times the mask."""
        original = getattr(module, self._tensor_name + "_orig")
        mask = getattr(module, self._tensor_name + "_mask")
        return mask.to(dtype=original.dtype) * original

    @classmethod
    def apply(
        cls: type[P],
        module: Module,
        name: str,
        *args: Any,
        importance_scores: Tensor | None = None,
        **kwargs: Any,
    ) -> BasePruningMethod:
        """Prune a parameter of a module, on top of what has pruned it before."""
        method = cls(*args, **kwargs)
        method._tensor_name = name
        tensor = getattr(module, name)
        if importance_scores is not None:
            _require_scores(importance_scores, tensor, f"parameter {name} of {module}")
        else:
            importance_scores = tensor
        earlier = _find_hook(module, name)
        if earlier is None:
            return method._start(module, importance_scores)
        key, hook = earlier
        container = hook if isinstance(hook, PruningContainer) else PruningContainer(hook)
        mask = container._combined(method, importance_scores, getattr(module, name + "_mask"))
        container.add_pruning_method(method)
        del module._forward_pre_hooks[key]
        container._install(module, mask)
        return container

    def _start(self, module: Module, scores: Tensor) -> BasePruningMethod:
        """Prune a parameter that is not pruned yet; if that fails, the module stays as it was."""
        name = self._tensor_name
        original = getattr(module, name)
        mask = self.compute_mask(scores, default_mask=ones_like(original))
        module.register_parameter(name + "_orig", original)
        del module._parameters[name]
        self._install(module, mask)
        return self

    def _install(self, module: Module, mask: Tensor) -> None:
        name = self._tensor_name
        module.register_buffer(name + "_mask", mask)
        setattr(module, name, self.apply_mask(module))
        module.register_forward_pre_hook(self)

    def prune(
        self,
        t: Tensor,
        default_mask: Tensor | None = None,
        importance_scores: Tensor | None = None,
    ) -> Tensor:
        """A pruned version of a tensor."""
        if importance_scores is not None:
            _require_scores(importance_scores, t, "tensor t")
        else:
            importance_scores = t
        mask = ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(importance_scores, default_mask=mask)

    def remove(self, module: Module) -> None:
        """Make the pruned values permanent; the parameter keeps its identity."""
        name = self._tensor_name
        pruned = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original: Any = module._parameters[name + "_orig"]
        original.data = pruned.detach()
        del module._parameters[name + "_orig"]
        del module._buffers[name + "_mask"]
        setattr(module, name, original)


def _require_scores(scores: Tensor, tensor: Tensor, described: str) -> None:
    if scores.shape != tensor.shape:
        raise AssertionError(
            f"importance_scores should have the same shape as {described}, got {scores.shape} vs "
            f"{tensor.shape}" + errors.at_user_line()
        )


def _find_hook(module: Module, name: str) -> tuple[int, BasePruningMethod] | None:
    """The hook that prunes this parameter, and its key."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            return key, hook
    return None


class PruningContainer(BasePruningMethod):
    """Several methods that have pruned the same parameter, in their order."""

    def __init__(self, *args: BasePruningMethod) -> None:
        self._pruning_methods: tuple[BasePruningMethod | None, ...] = ()
        if args:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: BasePruningMethod | None) -> None:
        """Add a method, which acts on the same parameter."""
        if method is not None and not isinstance(method, BasePruningMethod):
            raise TypeError(
                f"{type(method)} is not a BasePruningMethod subclass" + errors.at_user_line()
            )
        if method is not None and self._tensor_name != method._tensor_name:
            raise ValueError(
                "Can only add pruning methods acting on the parameter named "
                f"'{self._tensor_name}' to PruningContainer {self}. Found "
                f"'{method._tensor_name}'" + errors.at_user_line()
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod | None]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: Any) -> Any:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask of the last method, applied to what the earlier ones have left."""
        method: Any = self._pruning_methods[-1]
        return self._combined(method, t, default_mask)

    @staticmethod
    def _combined(method: BasePruningMethod, scores: Tensor, mask: Tensor) -> Tensor:
        """The mask after one more method, which sees only what is left."""
        left = _remaining(method, scores, mask)
        combined = mask.clone().to(dtype=scores.dtype)
        partial = method.compute_mask(scores[left], default_mask=mask[left])
        combined[left] = partial.to(dtype=combined.dtype)
        return combined


def _remaining(method: BasePruningMethod, scores: Tensor, mask: Tensor) -> Any:
    """The index of what is not pruned yet, in the units in which the method prunes."""
    kind = method.PRUNING_TYPE
    if kind == "unstructured":
        return mask == 1
    if kind == "global":
        return (slice(None),) * scores.dim()
    if kind != "structured":
        raise ValueError(f"Unrecognized PRUNING_TYPE {kind}" + errors.at_user_line())
    if not hasattr(method, "dim"):
        raise AttributeError(
            'Pruning methods of PRUNING_TYPE "structured" need to have the attribute `dim` '
            "defined." + errors.at_user_line()
        )
    ndim = scores.dim()
    dim = method.dim if method.dim >= 0 else ndim + method.dim
    if dim < 0:
        text = f"Index is out of bounds for tensor with dimensions {ndim}"
        raise IndexError(text + errors.at_user_line())
    kept = mask.sum(dim=[each for each in range(ndim) if each != dim]) != 0
    return _along(dim, kept, ndim)


def _along(dim: int, index: Any, ndim: int) -> tuple[Any, ...]:
    """An index that selects along one dimension and takes all of the others."""
    where: list[Any] = [slice(None)] * ndim
    where[dim] = index
    return tuple(where)


# ---------------------------------------------------------------- how much


def _validate_pruning_amount_init(amount: Any) -> None:
    if not isinstance(amount, numbers.Real):
        raise TypeError(
            f"Invalid type for amount: {amount}. Must be int or float." + errors.at_user_line()
        )
    if float(amount) < 0 or (not isinstance(amount, numbers.Integral) and float(amount) > 1):
        raise ValueError(
            f"amount={amount} should either be a float in the range [0, 1] or a non-negative "
            "integer" + errors.at_user_line()
        )


def _validate_pruning_amount(amount: Any, tensor_size: int) -> None:
    if isinstance(amount, numbers.Integral) and int(amount) > tensor_size:
        raise ValueError(
            f"amount={amount} should be smaller than the number of parameters to "
            f"prune={tensor_size}" + errors.at_user_line()
        )


def _compute_nparams_toprune(amount: Any, tensor_size: int) -> int:
    """How many are pruned: a number of them, or a part."""
    return int(amount) if isinstance(amount, numbers.Integral) else round(amount * tensor_size)


# ---------------------------------------------------------------- the methods


class Identity(BasePruningMethod):
    """Prunes nothing, but makes a parameter one that can be pruned."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask


class _Unstructured(BasePruningMethod):
    """Prunes the elements that come out lowest or highest by some measure."""

    PRUNING_TYPE = "unstructured"
    _prune_largest: bool

    def __init__(self, amount: Amount) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def _measure(self, t: Tensor) -> Tensor:
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        _validate_pruning_amount(self.amount, t.nelement())
        count = _compute_nparams_toprune(self.amount, t.nelement())
        mask = default_mask.clone().contiguous()
        if count:
            measure = self._measure(t).reshape(-1)
            pruned = topk(measure, k=count, largest=self._prune_largest).indices
            mask.view(-1)[pruned] = 0
        return mask


class RandomUnstructured(_Unstructured):
    """Prunes elements at random."""

    _prune_largest = True

    def _measure(self, t: Tensor) -> Tensor:
        return rand_like(t)


class L1Unstructured(_Unstructured):
    """Prunes the elements with the smallest absolute values."""

    _prune_largest = False

    def _measure(self, t: Tensor) -> Tensor:
        return t.detach().abs()

    @classmethod
    def apply(  # type: ignore[override]  # what the constructor takes, by name
        cls, module: Module, name: str, amount: Amount, importance_scores: Tensor | None = None
    ) -> BasePruningMethod:
        return super().apply(module, name, amount=amount, importance_scores=importance_scores)


class _Structured(BasePruningMethod):
    """Prunes whole slices along one dimension."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: Amount, dim: int = -1) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount
        self.dim = dim

    def _kept(self, t: Tensor, size: int, count: int) -> Tensor:
        """The index of the slices that stay, when `count` of `size` are pruned."""
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if t.dim() <= 1:
            raise ValueError(
                "Structured pruning can only be applied to multidimensional tensors. Found tensor "
                f"of shape {t.shape} with {t.dim()} dims" + errors.at_user_line()
            )
        if self.dim >= t.dim():
            raise IndexError(
                f"Invalid index {self.dim} for tensor of size {t.shape}" + errors.at_user_line()
            )
        size = t.shape[self.dim]
        _validate_pruning_amount(self.amount, size)
        count = _compute_nparams_toprune(self.amount, size)
        if not count:
            return default_mask
        mask = zeros_like(t)
        mask[_along(self.dim, self._kept(t, size, count), t.dim())] = 1
        return mask * default_mask.to(dtype=mask.dtype)


class RandomStructured(_Structured):
    """Prunes slices at random."""

    def _kept(self, t: Tensor, size: int, count: int) -> Tensor:
        draws = rand(size)
        return draws > kthvalue(draws, k=count).values


class LnStructured(_Structured):
    """Prunes the slices with the smallest norms of order `n`."""

    def __init__(self, amount: Amount, n: Any, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def _kept(self, t: Tensor, size: int, count: int) -> Tensor:
        own = self.dim % t.dim()
        others = [each for each in range(t.dim()) if each != own]
        norms = norm(t.detach(), p=self.n, dim=others)
        return topk(norms, k=size - count, largest=True).indices

    @classmethod
    def apply(  # type: ignore[override]  # what the constructor takes, by name
        cls,
        module: Module,
        name: str,
        amount: Amount,
        n: Any,
        dim: int,
        importance_scores: Tensor | None = None,
    ) -> BasePruningMethod:
        return super().apply(
            module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores
        )


class CustomFromMask(BasePruningMethod):
    """Prunes by a mask that is given."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"default_mask shape {default_mask.shape} must match self.mask shape "
                f"{self.mask.shape}" + errors.at_user_line()
            )
        return default_mask * self.mask.to(dtype=default_mask.dtype)


# ---------------------------------------------------------------- as functions


def identity(module: M, name: str) -> M:
    """Make a parameter one that can be pruned, with a mask of ones."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: M, name: str, amount: Amount) -> M:
    """Prune elements at random: a number of them, or a part."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(
    module: M, name: str, amount: Amount, importance_scores: Tensor | None = None
) -> M:
    """Prune the smallest elements (by the scores, if they are given)."""
    L1Unstructured.apply(module, name, amount, importance_scores)
    return module


def random_structured(module: M, name: str, amount: Amount, dim: int) -> M:
    """Prune slices along `dim` at random."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: M,
    name: str,
    amount: Amount,
    n: Any,
    dim: int,
    importance_scores: Tensor | None = None,
) -> M:
    """Prune the slices along `dim` with the smallest norms of order `n`."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores)
    return module


def custom_from_mask(module: M, name: str, mask: Tensor) -> M:
    """Prune where the mask is 0."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Module, str]],
    pruning_method: type[BasePruningMethod],
    importance_scores: dict[tuple[Module, str], Tensor] | None = None,
    **kwargs: Any,
) -> None:
    """Prune several parameters as if they were one: the amount is of all of them together."""
    given: Any = parameters
    if not isinstance(given, Iterable):
        text = "global_unstructured(): parameters is not an Iterable"
        raise TypeError(text + errors.at_user_line())
    scores: Any = {} if importance_scores is None else importance_scores
    if not isinstance(scores, dict):
        text = "global_unstructured(): importance_scores must be of type dict"
        raise TypeError(text + errors.at_user_line())
    places = list(given)
    tensors = [getattr(module, name) for module, name in places]
    masks = [
        getattr(module, name + "_mask", ones_like(tensor))
        for (module, name), tensor in zip(places, tensors)
    ]
    measured = [scores.get(place, tensor) for place, tensor in zip(places, tensors)]
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method '
            f"{pruning_method} of type {method.PRUNING_TYPE}" + errors.at_user_line()
        )
    mask = PruningContainer._combined(method, _as_vector(measured), _as_vector(masks))
    start = 0
    for (module, name), tensor in zip(places, tensors):
        end = start + tensor.numel()
        custom_from_mask(module, name, mask=mask[start:end].view_as(tensor))
        start = end


def _as_vector(tensors: list[Tensor]) -> Tensor:
    return cat([tensor.reshape(-1) for tensor in tensors])


def remove(module: M, name: str) -> M:
    """Make a pruned parameter an ordinary one, with zeros where it is pruned."""
    found = _find_hook(module, name)
    if found is None:
        raise ValueError(
            f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed"
            + errors.at_user_line()
        )
    key, hook = found
    hook.remove(module)
    del module._forward_pre_hooks[key]
    return module


def is_pruned(module: Module) -> bool:
    """Whether a module, or one inside it, has a pruned parameter."""
    return any(
        isinstance(hook, BasePruningMethod)
        for each in module.modules()
        for hook in each._forward_pre_hooks.values()
    )
