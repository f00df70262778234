"""The classes that prune a parameter: each says how its mask is computed."""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, TypeVar

from clew import errors
from clew.core.tensor import Tensor
from clew.nn.modules.module import Module
from clew.ops.create.constants import ones_like, zeros_like
from clew.ops.create.random import rand, rand_like
from clew.ops.reduce.norms import norm
from clew.ops.reduce.sorting import kthvalue, topk

Amount = int | float


P = TypeVar("P", bound="BasePruningMethod")


M = TypeVar("M", bound=Module)


class BasePruningMethod(ABC):
    """A forward pre-hook that applies a mask; subclasses say how the mask is computed.

    Example:
        >>> class PruneNegative(nn.utils.prune.BasePruningMethod):
        ...     PRUNING_TYPE = "unstructured"
        ...     def compute_mask(self, t, default_mask):
        ...         return default_mask * (t >= 0)
        >>> PruneNegative().prune(clew.tensor([1.0, -2.0, 3.0]))
        tensor([1., -0., 3.])
    """

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
    """Several methods that have pruned the same parameter, in their order.

    Args:
        args: the methods

    Example:
        >>> layer = nn.utils.prune.l1_unstructured(nn.Linear(2, 2), "weight", 1)
        >>> layer = nn.utils.prune.l1_unstructured(layer, "weight", 1)
        >>> [type(each).__name__ for each in layer._forward_pre_hooks.values()]
        ['PruningContainer']
    """

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


class Identity(BasePruningMethod):
    """Prunes nothing, but makes a parameter one that can be pruned.

    Example:
        >>> nn.utils.prune.Identity().prune(clew.tensor([1.0, -2.0]))
        tensor([ 1., -2.])
    """

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
    """Prunes elements at random.

    Args:
        amount: how many, if an integer; which part of all, if a number from 0 to 1

    Example:
        >>> method = nn.utils.prune.RandomUnstructured(3)
        >>> int((method.prune(clew.ones(10)) == 0).sum())
        3
    """

    _prune_largest = True

    def _measure(self, t: Tensor) -> Tensor:
        return rand_like(t)


class L1Unstructured(_Unstructured):
    """Prunes the elements with the smallest absolute values.

    Args:
        amount: how many, if an integer; which part of all, if a number from 0 to 1

    Example:
        >>> nn.utils.prune.L1Unstructured(0.5).prune(clew.tensor([1.0, -4.0, 3.0, 2.0]))
        tensor([ 0., -4.,  3.,  0.])
    """

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
    """Prunes slices at random.

    Args:
        amount: how many, if an integer; which part of all, if a number from 0 to 1
        dim: the dimension that is pruned

    Example:
        >>> method = nn.utils.prune.RandomStructured(2, dim=0)
        >>> int((method.prune(clew.ones(5, 3)).sum(1) == 0).sum())
        2
    """

    def _kept(self, t: Tensor, size: int, count: int) -> Tensor:
        draws = rand(size)
        return draws > kthvalue(draws, k=count).values


class LnStructured(_Structured):
    """Prunes the slices with the smallest norms of order `n`.

    Args:
        amount: how many, if an integer; which part of all, if a number from 0 to 1
        n: the order of the norm
        dim: the dimension that is pruned

    Example:
        >>> method = nn.utils.prune.LnStructured(1, n=2, dim=0)
        >>> method.prune(clew.tensor([[1.0, 2.0], [3.0, 4.0]]))
        tensor([[0., 0.],
                [3., 4.]])
    """

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
    """Prunes by a mask that is given.

    Args:
        mask: 0 where it prunes, 1 elsewhere

    Example:
        >>> nn.utils.prune.CustomFromMask(clew.tensor([1, 0])).prune(clew.tensor([5.0, 6.0]))
        tensor([5., 0.])
    """

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
