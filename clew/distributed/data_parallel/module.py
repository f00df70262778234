"""`DistributedDataParallel`: a replica of a module on each rank, with averaged gradients."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from clew import errors
from clew.core.state import local
from clew.core.tensor import Tensor
from clew.distributed.algorithms.join import Join, Joinable, JoinHook
from clew.distributed.data_parallel.reducer import Reducer
from clew.distributed.data_parallel.states import broadcast_all, compare_shapes
from clew.distributed.runtime import world
from clew.nn.modules.module import Module
from clew.utils._pytree import tree_leaves

__all__ = ["DistributedDataParallel"]

_MIB = 1 << 20


class DistributedDataParallel(Module, Joinable):
    """A module whose gradients are averaged over the ranks while backward goes on.

    Args:
        module: the module; all ranks get the parameters and buffers of rank 0
        device_ids, output_device, dim: accepted; there is one device
        broadcast_buffers: give all ranks the buffers of rank 0 before each forward
        init_sync: give all ranks the parameters of rank 0 now
        process_group: the ranks; None is all of them
        bucket_cap_mb: how many MiB of gradients travel together; 25 if not given
        find_unused_parameters: look, in each forward, for parameters that get no gradient
        check_reduction: accepted
        gradient_as_bucket_view: let gradients be parts of the buckets, which saves a copy
        static_graph: the same parameters are used in each step
        delay_all_reduce_named_params, param_to_hook_all_reduce, mixed_precision,
        device_mesh, skip_all_reduce_unused_params: as in PyTorch; only the mesh has a meaning here

    Example:
        >>> import clew.distributed as dist
        >>> dist.init_process_group("gloo")
        >>> model = nn.parallel.DistributedDataParallel(nn.Linear(2, 1))
        >>> model(clew.ones(1, 2)).sum().backward()
        >>> model.module.weight.grad
        tensor([[1., 1.]])
        >>> dist.destroy_process_group()
    """

    def __init__(
        self,
        module: Module,
        device_ids: Any = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool = True,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        delay_all_reduce_named_params: Any = None,
        param_to_hook_all_reduce: Any = None,
        mixed_precision: Any = None,
        device_mesh: Any = None,
        skip_all_reduce_unused_params: bool = False,
    ) -> None:
        super().__init__()
        Joinable.__init__(self)
        if device_mesh is not None:
            process_group = device_mesh.get_group(0)
        self.process_group = world.default_group() if process_group is None else process_group
        named = [(n, p) for n, p in module.named_parameters() if p.requires_grad]
        if not named:
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameter "
                "that requires a gradient." + errors.at_user_line()
            )
        self.module = module
        self.device_ids, self.output_device, self.dim = None, None, dim
        self.device, self.device_type = named[0][1].device, "cpu"
        self.broadcast_buffers = broadcast_buffers
        self.find_unused_parameters = find_unused_parameters
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.require_backward_grad_sync = True
        self.static_graph = False
        if init_sync:
            compare_shapes(named, self.process_group, "DDP")
            state = [*(p for _, p in module.named_parameters()), *self._buffers_of()]
            broadcast_all(state, 0, self.process_group)
        self.reducer = Reducer(
            named,
            self.process_group,
            int((25 if bucket_cap_mb is None else bucket_cap_mb) * _MIB),
            find_unused=find_unused_parameters or static_graph,
            views=gradient_as_bucket_view,
        )
        self._is_joining = False
        if static_graph:
            self._set_static_graph()

    def _buffers_of(self) -> list[Tensor]:
        ignored = getattr(self.module, "_ddp_params_and_buffers_to_ignore", ())
        return [b for name, b in self.module.named_buffers() if name not in ignored]

    def _set_static_graph(self) -> None:
        """The same parameters are used in each step: they are looked for once."""
        self.static_graph = self.reducer.is_static = True
        self.reducer.find_unused = True

    def will_sync_module_buffers(self) -> bool:
        """Whether the next forward gives all ranks the buffers of rank 0."""
        return self.require_backward_grad_sync and self.broadcast_buffers

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        trains = local.state.grad_enabled and self.require_backward_grad_sync
        if trains and self._join_config.enable:
            work = Join.notify_join_context(self)
            if work is not None:
                self._note_active_ranks(work)
        if self.will_sync_module_buffers():
            self._sync_buffers(True)
        outputs = self.module(*inputs, **kwargs)
        self.reducer.synchronizes = self.require_backward_grad_sync
        if trains:
            tensors = [each for each in tree_leaves(outputs) if isinstance(each, Tensor)]
            self.reducer.prepare(tensors)
        return outputs

    def _sync_buffers(self, is_active: bool) -> None:
        """Give all ranks the buffers of rank 0; in `join`, of the last rank that has inputs."""
        buffers = self._buffers_of()
        if buffers and self.process_group.size() > 1:
            root = Join.last_rank(is_active, self.process_group) if self._is_joining else 0
            broadcast_all(buffers, root, self.process_group)

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Inside, gradients are only accumulated; the first backward outside reduces them all."""
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def register_comm_hook(self, state: Any, hook: Callable[..., Any]) -> None:
        """Let a function of the state and a `GradBucket` reduce gradients; it returns a future.

        Args:
            state: what the function is given first
            hook: the function
        """
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        if self.reducer.hook is not None:
            raise RuntimeError(
                "register_comm_hook can only be called once." + errors.at_user_line()
            )
        self.reducer.hook, self.reducer.hook_state = hook, state

    def __getstate__(self) -> Any:
        raise RuntimeError(
            "DistributedDataParallel belongs to its processes: save `model.module` or a state dict"
            + errors.at_user_line()
        )

    # -- uneven inputs -------------------------------------------------------------------------

    def join(
        self,
        divide_by_initial_world_size: bool = True,
        enable: bool = True,
        throw_on_early_termination: bool = False,
    ) -> Join:
        """A context in which ranks may have different numbers of inputs.

        Args:
            divide_by_initial_world_size: average over all ranks, and not those with inputs left
            enable: whether it does anything
            throw_on_early_termination: raise on all ranks when the first has no more inputs
        """
        return Join(
            [self], enable, throw_on_early_termination,
            divide_by_initial_world_size=divide_by_initial_world_size,
        )  # fmt: skip

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """What a rank without inputs does while others train."""
        self._is_joining = True
        self._divide_by_all = kwargs.get("divide_by_initial_world_size", True)
        return _ShadowReplica(self)

    @property
    def join_device(self) -> Any:
        """The device of the messages of `join`."""
        return self.device

    @property
    def join_process_group(self) -> Any:
        """The ranks that join."""
        return self.process_group

    def _note_active_ranks(self, work: Any) -> None:
        work.wait()
        active = int(work.result()[0].item())
        self.reducer.divisor = self.process_group.size() if self._divide_by_all else active


class _ShadowReplica(JoinHook):
    """A rank without inputs: it sends zeros, and at the end takes the last rank's parameters."""

    def __init__(self, ddp: DistributedDataParallel) -> None:
        self.ddp = ddp

    def main_hook(self) -> None:
        ddp = self.ddp
        if ddp.will_sync_module_buffers():
            ddp._sync_buffers(False)
        ddp.reducer.shadow()

    def post_hook(self, is_last_joiner: bool) -> None:
        group = self.ddp.process_group
        root = Join.last_rank(is_last_joiner, group)
        broadcast_all(list(self.ddp.module.parameters()), root, group)
        self.ddp.reducer.divisor = group.size()
        self.ddp._is_joining = False
