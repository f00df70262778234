"""`ZeroRedundancyOptimizer`: each rank keeps the optimizer state of a part of the parameters."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any

from clew import distributed as dist
from clew import errors
from clew.core.tensor import Tensor
from clew.distributed.algorithms.join import Joinable, JoinHook
from clew.distributed.data_parallel.states import broadcast_all
from clew.distributed.runtime import world
from clew.optim.optimizer import Optimizer

__all__ = ["ZeroRedundancyOptimizer"]


class ZeroRedundancyOptimizer(Optimizer, Joinable):
    """An optimizer whose state lies in parts over ranks (ZeRO, stage 1).

    Each rank updates the parameters that are its own and sends them to the others. Gradients come
    reduced from `DistributedDataParallel`.

    Args:
        params: parameters, or dicts of options with them
        optimizer_class: the optimizer that updates them
        process_group: the ranks; None is all of them
        parameters_as_bucket_view: accepted
        overlap_with_ddp: accepted if False
        defaults: the options of the optimizer

    Example:
        >>> import clew.distributed as dist
        >>> from clew.distributed.optim import ZeroRedundancyOptimizer
        >>> dist.init_process_group("gloo")
        >>> layer = nn.Linear(2, 1)
        >>> optimizer = ZeroRedundancyOptimizer(layer.parameters(), optim.Adam, lr=0.1)
        >>> layer(clew.ones(1, 2)).sum().backward()
        >>> optimizer.step()
        >>> dist.destroy_process_group()
    """

    def __init__(
        self,
        params: Iterable[Any],
        optimizer_class: type[Optimizer],
        process_group: Any = None,
        parameters_as_bucket_view: bool = False,
        overlap_with_ddp: bool = False,
        **defaults: Any,
    ) -> None:
        if overlap_with_ddp:
            raise NotImplementedError(
                "ZeroRedundancyOptimizer: overlap_with_ddp is not supported: call step()"
                + errors.at_user_line()
            )
        self.process_group = world.default_group() if process_group is None else process_group
        self._rank, self._size = self.process_group.rank(), self.process_group.size()
        self._class, self._defaults = optimizer_class, defaults
        self.optim: Any = None
        self._consolidated: dict[str, Any] | None = None
        Joinable.__init__(self)
        super().__init__(params, defaults)
        self._partition()

    def _partition(self) -> None:
        """Give each parameter, the largest first, to the rank that has least."""
        loads = [0] * self._size
        self._owner: dict[int, int] = {}
        everything = [p for group in self.param_groups for p in group["params"]]
        for param in sorted(everything, key=lambda p: -p.numel()):
            rank = loads.index(min(loads))
            self._owner[id(param)] = rank
            loads[rank] += param.numel()
        mine = [
            {**group, "params": [p for p in group["params"] if self._owner[id(p)] == self._rank]}
            for group in self.param_groups
        ]
        self.optim = self._class(mine, **self._defaults)
        for group, local in zip(self.param_groups, self.optim.param_groups):
            for name, value in local.items():
                group.setdefault(name, value)
        self.state = self.optim.state

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters with options of their own.

        Args:
            param_group: the options, with the parameters under "params"
        """
        super().add_param_group(param_group)
        if self.optim is not None:
            self._partition()

    def step(self, closure: Callable[[], Any] | None = None, **kwargs: Any) -> Any:
        """Update this rank's parameters, and give all ranks those of all.

        Args:
            closure: computes the loss anew
            kwargs: what the optimizer's own step takes
        """
        for group, local in zip(self.param_groups, self.optim.param_groups):
            # Schedulers change the groups that they see.
            local.update({name: value for name, value in group.items() if name != "params"})
        loss = self.optim.step(closure=closure, **kwargs) if closure else self.optim.step(**kwargs)
        for rank in range(self._size):
            params = [p for p in self._all_params() if self._owner[id(p)] == rank]
            if params and self._size > 1:
                broadcast_all(params, rank, self.process_group)
        return loss

    def _all_params(self) -> Iterable[Tensor]:
        return itertools.chain.from_iterable(group["params"] for group in self.param_groups)

    # -- state dicts ---------------------------------------------------------------------------

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Give one rank the state of all. All ranks call it, before that rank's `state_dict()`.

        Args:
            to: the rank that gets it
        """
        places = {id(p): place for place, p in enumerate(self._all_params())}
        mine = {places[id(p)]: state for p, state in self.optim.state.items()}
        parts: list[Any] | None = [None] * self._size if dist.get_rank() == to else None
        dist.gather_object(mine, parts, dst=to, group=self.process_group)
        if parts is not None:
            whole = {place: state for part in parts for place, state in part.items()}
            groups, first = [], 0
            for group in self.param_groups:
                count = len(group["params"])
                options = {n: value for n, value in group.items() if n != "params"}
                groups.append({**options, "params": list(range(first, first + count))})
                first += count
            self._consolidated = {
                "state": dict(sorted(whole.items())), "param_groups": groups,
            }  # fmt: skip

    def state_dict(self) -> dict[str, Any]:
        """The state of all ranks, in the form of the optimizer's own state dict."""
        if self._consolidated is None:
            raise RuntimeError(
                "Optimizer state has not been consolidated on this rank. Please call "
                f"`consolidate_state_dict(to={dist.get_rank()})` on all ranks beforehand if you "
                "meant to save the global state." + errors.at_user_line()
            )
        return self._consolidated

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take the state of a whole optimizer: each rank keeps its part.

        Args:
            state_dict: as `state_dict()` of this class or of the optimizer gives it
        """
        groups, first = [], 0
        places: list[int] = []
        for saved, group in zip(state_dict["param_groups"], self.param_groups, strict=True):
            kept = [
                place
                for place, param in zip(saved["params"], group["params"], strict=True)
                if self._owner[id(param)] == self._rank
            ]
            options = {n: value for n, value in saved.items() if n != "params"}
            group.update(options)
            groups.append({**options, "params": list(range(first, first + len(kept)))})
            first += len(kept)
            places += kept
        state = {
            number: state_dict["state"][place]
            for number, place in enumerate(places)
            if place in state_dict["state"]
        }
        self.optim.load_state_dict({"state": state, "param_groups": groups})
        self.state = self.optim.state

    # -- uneven inputs -------------------------------------------------------------------------

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """What a rank without inputs does: it takes the steps of the others."""
        return _ShadowStep(self)

    @property
    def join_device(self) -> Any:
        """The device of the messages of `Join`."""
        return next(iter(self._all_params())).device

    @property
    def join_process_group(self) -> Any:
        """The ranks that join."""
        return self.process_group


class _ShadowStep(JoinHook):
    def __init__(self, optimizer: ZeroRedundancyOptimizer) -> None:
        self.optimizer = optimizer

    def main_hook(self) -> None:
        self.optimizer.step()
