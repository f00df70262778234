"""`FullyShardedDataParallel`: the wrapper of FSDP1, over `fully_shard`."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from clew import distributed as dist
from clew import errors
from clew.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_optimizer_state_dict,
    positional_state,
)
from clew.distributed.data_parallel.states import broadcast_all
from clew.distributed.device_mesh import DeviceMesh
from clew.distributed.fsdp.options import (
    FullStateDictConfig,
    ShardingStrategy,
    StateDictSettings,
    StateDictType,
)
from clew.distributed.fsdp.policies import MixedPrecisionPolicy
from clew.distributed.fsdp.sharded_module import FSDPModule, fully_shard
from clew.distributed.runtime import world
from clew.distributed.tensor.dtensor import DTensor
from clew.nn.modules.module import Module
from clew.nn.utils.clip_grad import clip_grad_norm_

_INNER = "_fsdp_wrapped_module."
# Strategies that let whole parameters go after forward, and those with replicas.
_LETS_GO = (ShardingStrategy.FULL_SHARD, ShardingStrategy.HYBRID_SHARD)
_REPLICATES = (ShardingStrategy.HYBRID_SHARD, ShardingStrategy._HYBRID_SHARD_ZERO2)


class FullyShardedDataParallel(Module):
    """A module whose parameters, gradients and optimizer state lie in parts over ranks.

    Args:
        module: the module
        process_group: the ranks; None is all of them; for `HYBRID_SHARD`, a pair: this rank's
            group that shares a model, and its group of replicas
        sharding_strategy: `FULL_SHARD` lets whole parameters go after forward, `SHARD_GRAD_OP`
            keeps them until backward; `HYBRID_SHARD` cuts them over the ranks of a machine, which
            has a replica; with `NO_SHARD` each rank has all
        cpu_offload, backward_prefetch, device_id, forward_prefetch, limit_all_gathers,
            use_orig_params: accepted
        auto_wrap_policy: which inner modules are gathered by themselves
        mixed_precision: the dtypes of computation and reduction
        ignored_modules, ignored_states: what stays whole
        param_init_fn: is called with each module that is on the meta device
        sync_module_states: give all ranks the values of rank 0 first
        device_mesh: the ranks as a mesh

    Example:
        >>> import clew.distributed as dist
        >>> from clew.distributed.fsdp import FullyShardedDataParallel
        >>> dist.init_process_group("gloo")
        >>> model = FullyShardedDataParallel(nn.Linear(2, 1, bias=False))
        >>> model(clew.ones(1, 2)).sum().backward()
        >>> list(model.state_dict())
        ['weight']
        >>> dist.destroy_process_group()
    """

    def __init__(
        self,
        module: Module,
        process_group: Any = None,
        sharding_strategy: ShardingStrategy | None = None,
        cpu_offload: Any = None,
        auto_wrap_policy: Any = None,
        backward_prefetch: Any = None,
        mixed_precision: Any = None,
        ignored_modules: Iterable[Module] | None = None,
        param_init_fn: Callable[[Module], None] | None = None,
        device_id: Any = None,
        sync_module_states: bool = False,
        forward_prefetch: bool = False,
        limit_all_gathers: bool = True,
        use_orig_params: bool = False,
        ignored_states: Any = None,
        device_mesh: DeviceMesh | None = None,
    ) -> None:
        super().__init__()
        strategy = sharding_strategy or ShardingStrategy.FULL_SHARD
        if param_init_fn is not None:
            for each in module.modules():
                if any(p.is_meta for p in each.parameters(recurse=False)):
                    param_init_fn(each)
        mesh = _mesh_of(strategy, process_group, device_mesh)
        if sync_module_states:
            states = [*module.parameters(), *module.buffers()]
            for group in mesh.get_all_groups():
                broadcast_all(states, 0, group)
        ignored = _ignored(ignored_modules, ignored_states)
        options: dict[str, Any] = {
            "mesh": mesh,
            "reshard_after_forward": strategy in _LETS_GO,
            "mp_policy": _policy(mixed_precision),
            "ignored_params": ignored,
        }
        for inner in _chosen(module, auto_wrap_policy):
            fully_shard(inner, **options)
        if not isinstance(module, FSDPModule):
            fully_shard(module, **options)
        self._fsdp_wrapped_module = module

    @property
    def module(self) -> Module:
        """The module inside."""
        return self._fsdp_wrapped_module

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("_fsdp_wrapped_module"), name)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._fsdp_wrapped_module(*args, **kwargs)

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Inside, gradients are kept whole; the first backward outside reduces them."""
        inner: Any = self._fsdp_wrapped_module
        inner.set_requires_gradient_sync(False)
        try:
            yield
        finally:
            inner.set_requires_gradient_sync(True)

    def clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0) -> Any:
        """Scale gradients so that their norm over all ranks is at most `max_norm`.

        Args:
            max_norm: the most it may be
            norm_type: which norm
        """
        return clip_grad_norm_(self.parameters(), max_norm, norm_type)

    # -- state dicts ---------------------------------------------------------------------------

    _settings = StateDictSettings(StateDictType.FULL_STATE_DICT, FullStateDictConfig())

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        found = self._fsdp_wrapped_module.state_dict(*args, **kwargs)
        settings = FullyShardedDataParallel._settings
        if settings.state_dict_type is not StateDictType.FULL_STATE_DICT:
            return found
        config = settings.state_dict_config
        is_wanted = not getattr(config, "rank0_only", False) or dist.get_rank() == 0
        whole = {
            name: value.full_tensor().detach() if isinstance(value, DTensor) else value
            for name, value in found.items()
        }
        return whole if is_wanted else {}

    def load_state_dict(self, state_dict: Any, strict: bool = True, assign: bool = False) -> Any:
        return self._fsdp_wrapped_module.load_state_dict(state_dict, strict, assign)

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Any]]:
        for name, param in super().named_parameters(*args, **kwargs):
            yield name.replace(_INNER, ""), param

    @staticmethod
    def set_state_dict_type(
        module: Module,
        state_dict_type: StateDictType,
        state_dict_config: Any = None,
        optim_state_dict_config: Any = None,
    ) -> StateDictSettings:
        """Which form state dicts have from now on; what it was before is returned.

        Args:
            module: the model
            state_dict_type: whole or in parts
            state_dict_config: how it is made
            optim_state_dict_config: how an optimizer's is made
        """
        before = FullyShardedDataParallel._settings
        FullyShardedDataParallel._settings = StateDictSettings(
            state_dict_type, state_dict_config or FullStateDictConfig(), optim_state_dict_config
        )
        return before

    @staticmethod
    @contextlib.contextmanager
    def state_dict_type(
        module: Module,
        state_dict_type: StateDictType,
        state_dict_config: Any = None,
        optim_state_dict_config: Any = None,
    ) -> Iterator[None]:
        """Inside, state dicts have another form.

        Args:
            module: the model
            state_dict_type: whole or in parts
            state_dict_config: how it is made
            optim_state_dict_config: how an optimizer's is made
        """
        before = FullyShardedDataParallel.set_state_dict_type(
            module, state_dict_type, state_dict_config, optim_state_dict_config
        )
        try:
            yield
        finally:
            FullyShardedDataParallel._settings = before

    @staticmethod
    def get_state_dict_type(module: Module) -> StateDictSettings:
        """The form that state dicts have.

        Args:
            module: the model
        """
        return FullyShardedDataParallel._settings

    # -- optimizers ----------------------------------------------------------------------------

    @staticmethod
    def optim_state_dict(
        model: Module, optim: Any, optim_state_dict: Any = None, group: Any = None
    ) -> dict[str, Any]:
        """The state of an optimizer by the names of parameters, in the form that is chosen.

        Args:
            model: the model
            optim: the optimizer
            optim_state_dict, group: accepted
        """
        settings = FullyShardedDataParallel._settings
        is_whole = settings.state_dict_type is StateDictType.FULL_STATE_DICT
        options = StateDictOptions(full_state_dict=is_whole)
        found = get_optimizer_state_dict(model, optim, options=options)
        config = settings.optim_state_dict_config
        is_wanted = not getattr(config, "rank0_only", False) or dist.get_rank() == 0
        return found if is_wanted else {}

    @staticmethod
    def optim_state_dict_to_load(
        model: Module,
        optim: Any,
        optim_state_dict: dict[str, Any],
        is_named_optimizer: bool = False,
        load_directly: bool = False,
        group: Any = None,
    ) -> dict[str, Any]:
        """What `load_state_dict` of an optimizer takes, of what `optim_state_dict` has returned.

        Args:
            model: the model
            optim: the optimizer
            optim_state_dict: the state by names
            is_named_optimizer, group: accepted
            load_directly: let the optimizer take it, too
        """
        found = positional_state(model, optim, optim_state_dict)
        if load_directly:
            optim.load_state_dict(found)
        return found

    @staticmethod
    def full_optim_state_dict(
        model: Module,
        optim: Any,
        optim_input: Any = None,
        rank0_only: bool = True,
        group: Any = None,
    ) -> dict[str, Any]:
        """The former name of `optim_state_dict`, whole.

        Args:
            model: the model
            optim: the optimizer
            optim_input, group: accepted
            rank0_only: only rank 0 gets it
        """
        found = get_optimizer_state_dict(
            model, optim, options=StateDictOptions(full_state_dict=True)
        )
        return found if not rank0_only or dist.get_rank() == 0 else {}

    @staticmethod
    def shard_full_optim_state_dict(
        full_optim_state_dict: dict[str, Any],
        model: Module,
        optim_input: Any = None,
        optim: Any = None,
    ) -> dict[str, Any]:
        """The former name of `optim_state_dict_to_load`.

        Args:
            full_optim_state_dict: the state by names
            model: the model
            optim_input: accepted
            optim: the optimizer
        """
        return positional_state(model, optim, full_optim_state_dict)

    # -- whole parameters ----------------------------------------------------------------------

    @staticmethod
    def fsdp_modules(module: Module, root_only: bool = False) -> list[Module]:
        """The modules inside that are wrapped, or whose parameters lie in parts.

        Args:
            module: the model
            root_only: only the outermost
        """
        kinds = (FullyShardedDataParallel, FSDPModule)
        found: list[Module] = [each for each in module.modules() if isinstance(each, kinds)]
        return found[:1] if root_only else found

    @staticmethod
    @contextlib.contextmanager
    def summon_full_params(
        module: Module,
        recurse: bool = True,
        writeback: bool = True,
        rank0_only: bool = False,
        offload_to_cpu: bool = False,
        with_grads: bool = False,
    ) -> Iterator[None]:
        """Inside, parameters are whole.

        Args:
            module: the model
            recurse: those of inner modules, too
            writeback: let the parts have what whole parameters are at the end
            rank0_only: only rank 0 gets them
            offload_to_cpu: accepted
            with_grads: gradients, too
        """
        if rank0_only and writeback:
            raise NotImplementedError(
                "`writeback=True` and `rank0_only=True` is not supported: the other ranks would "
                "not learn of it" + errors.at_user_line()
            )
        inner = getattr(module, "_fsdp_wrapped_module", module)
        groups = [
            group
            for each in (inner.modules() if recurse else [inner])
            if (group := getattr(each, "_fsdp_group", None)) is not None
        ]
        for group in groups:
            group.summon(with_grads, not rank0_only or dist.get_rank() == 0)
        try:
            yield
        finally:
            for group in groups:
                group.dismiss(writeback)


def _mesh_of(strategy: ShardingStrategy, group: Any, mesh: DeviceMesh | None) -> DeviceMesh:
    """The ranks in one dimension, or with replicas in the first of two."""
    if mesh is not None:
        return mesh
    if isinstance(group, (list, tuple)):
        shares, replicas = group
        whole: list[Any] = [None] * dist.get_world_size()
        dist.all_gather_object(whole, (shares.ranks, replicas.ranks))
        grid = sorted({tuple(each[0]) for each in whole})
        return DeviceMesh("cpu", [list(row) for row in grid], _groups=[replicas, shares])
    ranks = dist.get_process_group_ranks(world.default_group() if group is None else group)
    if strategy is ShardingStrategy.NO_SHARD:
        return DeviceMesh("cpu", [[rank] for rank in ranks])
    if strategy in _REPLICATES:
        each = min(len(ranks), int(os.environ.get("LOCAL_WORLD_SIZE", len(ranks))))
        return DeviceMesh("cpu", [ranks[at : at + each] for at in range(0, len(ranks), each)])
    return DeviceMesh("cpu", ranks)


def _ignored(modules: Iterable[Module] | None, states: Any) -> set[Any]:
    found: set[Any] = set()
    for each in [*(modules or ()), *(states or ())]:
        found.update(each.parameters() if isinstance(each, Module) else [each])
    return found


def _policy(mixed: Any) -> MixedPrecisionPolicy | None:
    if mixed is None:
        return None
    return MixedPrecisionPolicy(param_dtype=mixed.param_dtype, reduce_dtype=mixed.reduce_dtype)


def _chosen(module: Module, policy: Any) -> list[Module]:
    """The inner modules that a policy wraps, from the inside out."""
    if policy is None:
        return []
    if isinstance(policy, (set, frozenset)):
        policy = functools.partial(_is_one_of, kinds=tuple(policy))
    function = getattr(policy, "_lambda_fn", None)
    found: list[Module] = []
    _collect(module, function or policy, function is not None, found)
    return [each for each in found if each is not module]


def _is_one_of(module: Module, recurse: bool, *args: Any, kinds: Any, **kwargs: Any) -> bool:
    return recurse or isinstance(module, kinds)


def _collect(module: Module, policy: Any, plain: bool, found: list[Module]) -> int:
    """Ask a policy about a module and all inside of it; how many elements were wrapped."""
    size = sum(param.numel() for param in module.parameters())
    if not plain and not policy(module=module, recurse=True, nonwrapped_numel=size):
        return 0
    wrapped = sum(_collect(child, policy, plain, found) for child in module.children())
    rest = size - wrapped
    is_chosen = (
        policy(module) if plain else policy(module=module, recurse=False, nonwrapped_numel=rest)
    )
    if is_chosen and rest and not isinstance(module, FSDPModule):
        found.append(module)
        return size
    return wrapped
