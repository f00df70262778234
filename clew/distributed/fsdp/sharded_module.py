"""`fully_shard`: a module whose parameters, gradients and optimizer state lie in parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from clew import distributed as dist
from clew import errors
from clew.backend import dtypes
from clew.core.tensor import Tensor
from clew.distributed.device_mesh import DeviceMesh
from clew.distributed.fsdp.parameter_group import ParameterGroup, noting
from clew.distributed.fsdp.policies import MixedPrecisionPolicy, OffloadPolicy
from clew.nn.modules.module import Module
from clew.utils._pytree import tree_map

__all__ = ["FSDPModule", "UnshardHandle", "fully_shard", "register_fsdp_forward_method"]


class UnshardHandle:
    """Parameters that are being gathered."""

    def __init__(self, groups: Sequence[ParameterGroup]) -> None:
        self._groups = groups

    def wait(self) -> None:
        """Return when they are whole."""
        for group in self._groups:
            group.gather()


class FSDPModule:
    """What `fully_shard` makes of a module, beside what it was: for `isinstance`, and to steer."""

    _fsdp_group: ParameterGroup | None
    _fsdp_policy: MixedPrecisionPolicy
    _fsdp_is_root: bool

    def _groups(self, recurse: bool = True) -> list[ParameterGroup]:
        modules = self.modules() if recurse else [self]  # type: ignore[attr-defined]  # a Module
        found = [getattr(each, "_fsdp_group", None) for each in modules]
        return [group for group in found if group is not None]

    def unshard(self, async_op: bool = False) -> UnshardHandle | None:
        """Gather this module's own parameters now.

        Args:
            async_op: return at once, with a handle to wait for
        """
        handle = UnshardHandle(self._groups(False))
        for group in self._groups(False):
            group.start()
        if async_op:
            return handle
        handle.wait()
        return None

    def reshard(self) -> None:
        """Give the memory of this module's whole parameters back."""
        for group in self._groups(False):
            group.let_go()

    def set_requires_gradient_sync(
        self, requires_gradient_sync: bool, *, recurse: bool = True
    ) -> None:
        """Whether backward reduces gradients; without, they are kept whole until one does.

        Args:
            requires_gradient_sync: whether
            recurse: for the modules inside, too
        """
        for group in self._groups(recurse):
            group.synchronizes = requires_gradient_sync

    def set_is_last_backward(self, is_last_backward: bool) -> None:
        """Accepted: gradients are complete when backward returns."""

    def set_reshard_after_forward(self, reshard_after_forward: bool, recurse: bool = True) -> None:
        """Whether whole parameters are let go after forward.

        Args:
            reshard_after_forward: whether
            recurse: for the modules inside, too
        """
        for group in self._groups(recurse):
            group.reshards = reshard_after_forward

    def set_reshard_after_backward(self, reshard: bool, *, recurse: bool = True) -> None:
        """Accepted: whole parameters are let go after backward."""

    def set_modules_to_forward_prefetch(self, modules: Sequence[Any]) -> None:
        """Which module is gathered while this one computes.

        Args:
            modules: the first of them counts
        """
        for group in self._groups(False):
            group.following = next(iter(modules))._groups(False)[0] if modules else None

    def set_modules_to_backward_prefetch(self, modules: Sequence[Any]) -> None:
        """Which module is gathered while this one goes backward.

        Args:
            modules: the first of them counts
        """
        for group in self._groups(False):
            group.preceding = next(iter(modules))._groups(False)[0] if modules else None

    def set_unshard_in_backward(self, unshard_in_backward: bool) -> None:
        """Accepted: parameters are gathered in backward where it needs them."""


def fully_shard(
    module: Any,
    *,
    mesh: DeviceMesh | None = None,
    reshard_after_forward: bool | int | None = None,
    shard_placement_fn: Any = None,
    mp_policy: MixedPrecisionPolicy | None = None,
    offload_policy: OffloadPolicy | None = None,
    ignored_params: set[Any] | None = None,
) -> Any:
    """Let the parameters of a module lie in parts over ranks, gathered when it computes.

    Call it for the inner modules first (each block of a transformer) and for the whole at last:
    each call takes the parameters that no earlier one has taken, and gathers them together.

    Args:
        module: the module, or several that compute one after the other
        mesh: the ranks; of two dimensions, the first has replicas
        reshard_after_forward: let whole parameters go between forward and backward; by default for
            all but the outermost module
        shard_placement_fn: of a parameter; a `Shard` says along which dimension it is cut, and
            None the first
        mp_policy: the dtypes of computation and reduction
        offload_policy: accepted; parameters are in main memory
        ignored_params: parameters that stay whole

    Example:
        >>> import clew.distributed as dist
        >>> from clew.distributed.fsdp import fully_shard
        >>> dist.init_process_group("gloo")
        >>> model = fully_shard(nn.Linear(2, 1))
        >>> model(clew.ones(1, 2)).sum().backward()
        >>> model.weight.grad.full_tensor()
        tensor([[1., 1.]])
        >>> dist.destroy_process_group()
    """
    modules: list[Module] = list(module) if isinstance(module, (list, tuple)) else [module]
    grid = mesh or DeviceMesh("cpu", list(range(dist.get_world_size())))
    policy = mp_policy or MixedPrecisionPolicy()
    owners = _owners(modules, {id(each) for each in ignored_params or ()})
    group = ParameterGroup(owners, grid, policy, shard_placement_fn) if owners else None
    if group is not None:
        # The outermost module goes backward first: its parameters would be gathered at once.
        inner = any(isinstance(each, FSDPModule) for m in modules for each in m.modules())
        group.reshards = not inner if reshard_after_forward is None else bool(reshard_after_forward)
    for place, each in enumerate(modules):
        _become_sharded(each, group if place == 0 else None, policy)
    modules[0].register_forward_pre_hook(_Before(modules[0]), prepend=True, with_kwargs=True)
    modules[-1].register_forward_hook(_After(modules[0]), with_kwargs=True, always_call=True)
    return module


def _owners(modules: Sequence[Module], ignored: set[int]) -> list[tuple[Module, str, Tensor]]:
    """The parameters that no inner `fully_shard` has taken, with where they are."""
    found: list[tuple[Module, str, Tensor]] = []
    for module in modules:
        for owner in _own_modules(module):
            for name, param in owner._parameters.items():
                if param is not None and id(param) not in ignored:
                    found.append((owner, name, param))
    return found


def _own_modules(module: Module) -> Iterator[Module]:
    yield module
    for child in module.children():
        if not isinstance(child, FSDPModule):
            yield from _own_modules(child)


def _become_sharded(module: Module, group: ParameterGroup | None, policy: Any) -> None:
    kind = type(module)
    if isinstance(module, FSDPModule):
        raise RuntimeError("fully_shard has been applied to this module" + errors.at_user_line())
    module.__class__ = type(f"FSDP{kind.__name__}", (FSDPModule, kind), {"__module__": __name__})
    object.__setattr__(module, "_fsdp_group", group)
    object.__setattr__(module, "_fsdp_policy", policy)
    object.__setattr__(module, "_fsdp_hooks", [])


class _Order:
    """The order in which groups were entered in a forward, from which the next looks ahead."""

    last: ParameterGroup | None = None
    # How many modules are being computed, one inside the other.
    depth = 0


class _Before:
    """Gathers a module's parameters before its forward."""

    def __init__(self, module: Any) -> None:
        self.module = module

    def __call__(self, module: Module, args: Any, kwargs: Any) -> Any:
        group: ParameterGroup | None = self.module._fsdp_group
        if group is not None:
            before = _Order.last
            if before is not None and before is not group and before.following is None:
                before.following = group
                group.preceding = before
            _Order.last = group
            _Order.depth += 1
            group.enter()
        hooks = noting()
        hooks.__enter__()
        self.module._fsdp_hooks.append(hooks)
        policy = self.module._fsdp_policy
        if policy.param_dtype is None or not policy.cast_forward_inputs:
            return None
        return _cast(args, policy.param_dtype), _cast(kwargs, policy.param_dtype)


class _After:
    """Lets a module's whole parameters go after its forward."""

    def __init__(self, module: Any) -> None:
        self.module = module

    def __call__(self, module: Module, args: Any, kwargs: Any, output: Any) -> Any:
        if not self.module._fsdp_hooks:
            return None  # forward has not begun
        self.module._fsdp_hooks.pop().__exit__(None, None, None)
        if self.module._fsdp_group is not None:
            self.module._fsdp_group.leave()
            _Order.depth -= 1
            if not _Order.depth:
                # The outermost module: the next forward begins anew.
                _Order.last = None
        chosen = self.module._fsdp_policy.output_dtype
        return None if chosen is None else _cast(output, chosen)


def _cast(values: Any, dtype: dtypes.dtype) -> Any:
    def convert(value: Any) -> Any:
        is_float = isinstance(value, Tensor) and value.dtype.is_floating_point
        return value.to(dtype) if is_float else value

    return tree_map(convert, values)


def register_fsdp_forward_method(module: Any, method_name: str) -> None:
    """Let another method than `forward` gather the parameters, too.

    Args:
        module: a module after `fully_shard`
        method_name: the method
    """
    if not isinstance(module, FSDPModule):
        return
    method = getattr(module, method_name)
    before, after = _Before(module), _After(module)

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        changed = before(module, args, kwargs)  # type: ignore[arg-type]  # it is a Module as well
        if changed is not None:
            args, kwargs = changed
        try:
            output = method(*args, **kwargs)
        except BaseException:
            after(module, args, kwargs, None)  # type: ignore[arg-type]  # the same
            raise
        changed = after(module, args, kwargs, output)  # type: ignore[arg-type]  # the same
        return output if changed is None else changed

    object.__setattr__(module, method_name, wrapped)
