"""A step's plan: the kernel calls of the last step, for the next one if nothing has changed.

Collecting parameters, gradients and state takes longer than the arithmetic of small networks. A
plan keeps what was collected, checks that it still holds, and puts the new gradients in.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from operator import is_
from typing import TYPE_CHECKING, Any

from clew.core.mirror import MIRRORS
from clew.core.tensor import Tensor
from clew.kernels.compiled.foreach import TYPECODE, TYPES
from clew.nn.parameter import Parameter
from clew.source import Place

if TYPE_CHECKING:
    from clew.optim.parameterwise import Fused, Options, State


class _Update:
    """One parameter, with the state and the memory that its update works on."""

    __slots__ = ("arrays", "memories", "param", "shape", "state", "storages")

    def __init__(self, param: Tensor, state: State, fused: Fused) -> None:
        self.param, self.state = param, state
        self.memories = [(name, state[name]) for name in fused.remembered]
        self.arrays = [param._array, *[memory._array for _, memory in self.memories]]
        self.shape = param._array.shape
        self.storages = [param._storage, *[memory._storage for _, memory in self.memories]]

    def gradient(self, states: dict[Any, Any]) -> Any:
        """The array of the gradient, or None if something is not as it was."""
        param, arrays = self.param, self.arrays
        state: Any = states.get(param)
        if param._array is not arrays[0] or (state is not self.state and (state or self.state)):
            return None
        for place, (name, memory) in enumerate(self.memories, 1):
            if state[name] is not memory or memory._array is not arrays[place]:
                return None
        grad = param._grad
        if grad is None:
            return None
        found = grad._array
        fits = found.dtype is arrays[0].dtype and found.shape == self.shape
        return found if fits and found.flags.c_contiguous else None


class _GroupPlan:
    """The updates of one group of parameters, all by one kernel."""

    def __init__(self, group: Options, options: Options, fused: Fused) -> None:
        self.group, self.options, self.fused = group, options, fused
        self.updates: list[_Update] = []

    def finish(self) -> bool:
        """Make the kernel's table; False if the kernel cannot work on this memory as it is."""
        first = self.updates[0].arrays[0]
        self.params = list(self.group["params"])
        self.seen = dict(self.group)
        self.values = [each for name, each in self.group.items() if name != "params"]
        whole = all(
            each.flags.c_contiguous and each.dtype is first.dtype
            for update in self.updates
            for each in update.arrays
        )
        if not whole or any(isinstance(each, Tensor) for each in self.values):
            return False
        words: list[int] = []
        self.places: list[int] = []
        for update in self.updates:
            param, *memories = update.arrays
            self.places.append(len(words) + 2)
            words += (param.size, id(param), 0, *map(id, memories))
        self.table = array("q", words)
        self.states = [update.state for update in self.updates]
        self.total = sum(update.arrays[0].size for update in self.updates)
        self.dtype = TYPES[first.dtype]
        self.run: Callable[..., None] = self.fused.kernel.compiled(self.dtype)
        return True

    def gradients(self, states: dict[Any, Any]) -> list[Any] | None:
        """The arrays of all gradients, or None if something is not as it was."""
        group = self.group
        if len(group["params"]) != len(self.params) or not all(
            map(is_, group["params"], self.params)
        ):
            return None
        if not self._takes_options(group):
            return None
        found = [update.gradient(states) for update in self.updates]
        return None if any(each is None for each in found) else found

    def _takes_options(self, group: Options) -> bool:
        """Whether the options are as they were, but for the learning rate: schedulers change it."""
        values = [each for name, each in group.items() if name != "params"]
        if values == self.values:
            return True
        rate = group["lr"]
        changed = {name for name, each in group.items() if self.seen.get(name, self) is not each}
        if not changed <= {"lr"} or type(rate) is not float:
            return False
        self.values, self.seen["lr"] = values, rate
        self.options = {**self.options, "lr": rate}
        return True

    def step(self, gradients: list[Any], writer: str, where: Place | None) -> None:
        """Update all parameters."""
        table, fused, options = self.table, self.fused, self.options
        numbers = fused.numbers_of(self.states, options)
        for place, gradient in zip(self.places, gradients, strict=True):
            table[place] = id(gradient)
        first = numbers[0]
        if all(each is first or each == first for each in numbers):
            values = array(TYPECODE[self.dtype], first)
            self.run(table.buffer_info()[0], len(gradients), values.buffer_info()[0], self.total)
        else:
            for update, gradient, each in zip(self.updates, gradients, numbers, strict=True):
                param, *memories = update.arrays
                fused.kernel([(param, gradient, *memories)], each)
        for update in self.updates:
            for storage in update.storages:
                storage.bump("optimizer", where)
            # The error of a backward that comes too late then says what to do.
            update.storages[0].writer = writer


class StepPlan:
    """The kernel calls of a whole step."""

    def __init__(self, groups: list[_GroupPlan], param_groups: list[Options]) -> None:
        self.groups = groups
        self.param_groups = list(param_groups)

    def run(self, optimizer: Any, writer: str, where: Place | None) -> bool:
        """Make the step, if nothing has changed; False, and nothing done, if something has."""
        if len(optimizer.param_groups) != len(self.param_groups) or MIRRORS:
            return False
        if not all(map(is_, optimizer.param_groups, self.param_groups)):
            return False
        found = []
        for group in self.groups:
            gradients = group.gradients(optimizer.state)
            if gradients is None:
                return False
            found.append(gradients)
        for group, gradients in zip(self.groups, found, strict=True):
            group.step(gradients, writer, where)
        return True


Updated = tuple[int, Tensor, "State", "Fused"]


def planned(
    param_groups: list[Options], options: Sequence[Options], updated: Sequence[Updated]
) -> StepPlan | None:
    """The plan of a step that has been made: which kernel has updated which parameter of a group.

    None where a plan would be another way: several kernels in a group, memory that parameters
    share, gradients of another form.
    """
    groups: dict[int, _GroupPlan] = {}
    owners: set[int] = set()
    for number, param, state, fused in updated:
        memory = param._array
        owner = id(memory if memory.base is None else memory.base)
        group = groups.setdefault(number, _GroupPlan(param_groups[number], options[number], fused))
        if owner in owners or group.fused is not fused or type(param) not in (Tensor, Parameter):
            return None
        owners.add(owner)
        group.updates.append(_Update(param, state, fused))
    whole = len(updated) == sum(len(group["params"]) for group in param_groups)
    if not whole or not all([group.finish() for group in groups.values()]):
        return None
    return StepPlan(list(groups.values()), param_groups)
