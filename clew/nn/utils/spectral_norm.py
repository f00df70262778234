"""A weight divided by its largest singular value (Miyato et al., 2018), by a forward hook.

`clew.nn.utils.parametrizations.spectral_norm` is the newer form.
"""

from __future__ import annotations

from typing import Any, TypeVar

from clew import errors
from clew.autograd.grad_mode import no_grad
from clew.core.tensor import Tensor
from clew.linalg import multi_dot, pinv
from clew.nn.functional import normalize
from clew.nn.modules.conv import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from clew.nn.modules.module import Module
from clew.nn.parameter import Parameter, is_lazy

__all__ = [
    "SpectralNorm",
    "SpectralNormLoadStateDictPreHook",
    "SpectralNormStateDictHook",
    "remove_spectral_norm",
    "spectral_norm",
]

M = TypeVar("M", bound=Module)


def output_dim(module: Module) -> int:
    """Along which dimension of its weight a layer's outputs lie."""
    return int(isinstance(module, (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)))


def as_matrix(weight: Tensor, dim: int) -> Tensor:
    """The weight with one row for each index along `dim`."""
    if dim != 0:
        others = [each for each in range(weight.dim()) if each != dim]
        weight = weight.permute(dim, *others)
    return weight.reshape(weight.shape[0], -1)


def random_unit(matrix: Tensor, size: int, eps: float) -> Tensor:
    """A random vector of length 1, in the matrix's dtype."""
    return normalize(matrix.new_empty(size).normal_(0, 1), dim=0, eps=eps)


def check_iterations(count: int) -> None:
    """Raise unless there is at least one power iteration."""
    if count <= 0:
        raise ValueError(
            "Expected n_power_iterations to be positive, but got "
            f"n_power_iterations={count}" + errors.at_user_line()
        )


class SpectralNorm:
    """A forward pre-hook that computes a weight of norm 1 from the trained one.

    The singular vectors are buffers; each forward in training brings them closer by power
    iterations.
    """

    # Counts the forms of the state dict.
    _version: int = 1

    name: str
    dim: int
    n_power_iterations: int
    eps: float

    def __init__(
        self,
        name: str = "weight",
        n_power_iterations: int = 1,
        dim: int = 0,
        eps: float = 1e-12,
    ) -> None:
        check_iterations(n_power_iterations)
        self.name = name
        self.dim = dim
        self.n_power_iterations = n_power_iterations
        self.eps = eps

    def reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        """The weight with one row per output."""
        return as_matrix(weight, self.dim)

    def compute_weight(self, module: Module, do_power_iteration: bool) -> Tensor:
        """The normalized weight, after power iterations if they are asked for."""
        weight = getattr(module, self.name + "_orig")
        left, right = getattr(module, self.name + "_u"), getattr(module, self.name + "_v")
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    right.copy_(normalize(matrix.t().mv(left), dim=0, eps=self.eps))
                    left.copy_(normalize(matrix.mv(right), dim=0, eps=self.eps))
                # The next forward writes to the buffers, which this one's backward still needs.
                left, right = left.clone(), right.clone()
        return weight / left.dot(matrix.mv(right))

    def remove(self, module: Module) -> None:
        """Make the normalized weight an ordinary parameter."""
        with no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        delattr(module, self.name)
        for suffix in ("_u", "_v", "_orig"):
            delattr(module, self.name + suffix)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, module.training))

    def _solve_v_and_rescale(self, weight_mat: Tensor, u: Tensor, target_sigma: Tensor) -> Tensor:
        """The v with u = W v in the sense of least squares, scaled so that u W v = sigma."""
        transposed = weight_mat.t()
        inverse = pinv(transposed.mm(weight_mat))
        v = multi_dot([inverse, transposed, u.unsqueeze(1)]).squeeze(1)
        return v.mul_(target_sigma / u.dot(weight_mat.mv(v)))

    @staticmethod
    def apply(
        module: Module, name: str, n_power_iterations: int, dim: int, eps: float
    ) -> SpectralNorm:
        """Replace a parameter by `name_orig`, and compute it before every forward."""
        for existing in module._forward_pre_hooks.values():
            if isinstance(existing, SpectralNorm) and existing.name == name:
                raise RuntimeError(
                    f"Cannot register two spectral_norm hooks on the same parameter {name}"
                    + errors.at_user_line()
                )
        hook = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters[name]
        _require_weight(name, weight)
        assert weight is not None
        with no_grad():
            matrix = hook.reshape_weight_to_matrix(weight)
            rows, columns = matrix.shape
            left = random_unit(matrix, rows, eps)
            right = random_unit(matrix, columns, eps)
        delattr(module, name)
        module.register_parameter(name + "_orig", weight)
        # An attribute, because code may look at the weight before the first forward.
        setattr(module, name, weight.detach())
        module.register_buffer(name + "_u", left)
        module.register_buffer(name + "_v", right)
        module.register_forward_pre_hook(hook)
        module._register_state_dict_hook(SpectralNormStateDictHook(hook))
        module._register_load_state_dict_pre_hook(SpectralNormLoadStateDictPreHook(hook))
        return hook


def _require_weight(name: str, weight: Tensor | None) -> None:
    if weight is None:
        raise ValueError(
            f"`SpectralNorm` cannot be applied as parameter `{name}` is None"
            + errors.at_user_line()
        )
    if is_lazy(weight):
        raise ValueError(
            "The module passed to `SpectralNorm` can't have uninitialized parameters. Make sure "
            "to run the dummy forward before applying spectral normalization"
            + errors.at_user_line()
        )


class SpectralNormLoadStateDictPreHook:
    """Loads state dicts of the time when `weight` was saved in place of `weight_v`."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(
        self,
        state_dict: dict[str, Tensor],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        hook = self.fn
        version = local_metadata.get("spectral_norm", {}).get(hook.name + ".version")
        if version is not None and version >= 1:
            return
        weight_key = prefix + hook.name
        present = [weight_key + suffix in state_dict for suffix in ("_orig", "_u", "_v")]
        if version is None and all(present) and weight_key not in state_dict:
            return  # a present state dict that has lost its metadata
        needed = [weight_key + suffix for suffix in ("_orig", "", "_u")]
        absent = [key for key in needed if key not in state_dict]
        if absent:
            missing_keys.extend(absent if strict else ())
            return
        with no_grad():
            original = state_dict[weight_key + "_orig"]
            sigma = (original / state_dict.pop(weight_key)).mean()
            matrix = hook.reshape_weight_to_matrix(original)
            left = state_dict[weight_key + "_u"]
            state_dict[weight_key + "_v"] = hook._solve_v_and_rescale(matrix, left, sigma)


class SpectralNormStateDictHook:
    """Notes the version of the state dict's form in its metadata."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(
        self, module: Module, state_dict: Any, prefix: str, local_metadata: dict[str, Any]
    ) -> None:
        versions = local_metadata.setdefault("spectral_norm", {})
        key = self.fn.name + ".version"
        if key in versions:
            raise RuntimeError(
                f"Unexpected key in metadata['spectral_norm']: {key}" + errors.at_user_line()
            )
        versions[key] = self.fn._version


def spectral_norm(
    module: M,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> M:
    """Divide a weight by its largest singular value before every forward.

    `nn.utils.parametrizations.spectral_norm` is the newer form.

    Args:
        module: the module, which is returned
        name: the weight's name
        n_power_iterations: how many steps each forward improves the estimate by
        eps: a lower bound for the lengths that are divided by
        dim: the dimension of the outputs; None is 0, and 1 for transposed convolutions

    Example:
        >>> layer = nn.utils.spectral_norm(nn.Linear(3, 4))
        >>> sorted(layer.state_dict())
        ['bias', 'weight_orig', 'weight_u', 'weight_v']
    """
    along = output_dim(module) if dim is None else dim
    SpectralNorm.apply(module, name, n_power_iterations, along, eps)
    return module


def remove_spectral_norm(module: M, name: str = "weight") -> M:
    """Undo `spectral_norm`, keeping the normalized weight.

    Args:
        module: the module, which is returned
        name: the weight's name

    Example:
        >>> layer = nn.utils.remove_spectral_norm(nn.utils.spectral_norm(nn.Linear(3, 4)))
        >>> sorted(layer.state_dict())
        ['bias', 'weight']
    """
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, SpectralNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            break
    else:
        raise ValueError(f"spectral_norm of '{name}' not found in {module}" + errors.at_user_line())
    kinds = (SpectralNormStateDictHook, SpectralNormLoadStateDictPreHook)
    for hooks in (module._state_dict_hooks, module._load_state_dict_pre_hooks):
        for key, hook in list(hooks.items()):
            if isinstance(hook, kinds) and hook.fn.name == name:
                del hooks[key]
    return module
