"""A step's plan: the kernel calls of the last step, for the next one if nothing has changed.

Collecting parameters, gradients and state takes longer than the arithmetic of small networks. A
plan keeps what was collected, checks that it still holds, and puts the new gradients in.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from itertools import repeat
from operator import attrgetter, is_, itemgetter
from typing import TYPE_CHECKING, Any

from clew.core.mirror import MIRRORS, reflect
from clew.core.tensor import Tensor
from clew.core.unstrided import NotStrided
from clew.kernels.compiled.foreach import TYPECODE, TYPES
from clew.nn.parameter import Parameter
from clew.source import Place

if TYPE_CHECKING:
    from clew.optim.parameterwise import Fused, Options, State

_ARRAY, _GRAD = attrgetter("_array"), attrgetter("_grad")
_SHAPE, _STRIDES = attrgetter("_array.shape"), attrgetter("_array.strides")
_SHAPE_OF, _STRIDES_OF, _DTYPE_OF = map(attrgetter, ("shape", "strides", "dtype"))


# The options that are numbers, which may be others in every step.
_SCHEDULED = frozenset({"lr", "momentum", "betas", "weight_decay"})


def _is_plain(value: Any) -> bool:
    if type(value) is tuple:
        return all(type(each) is float for each in value)
    return type(value) is float


class GroupPlan:
    """The updates of one group of parameters, all by one kernel.

    What must be as it was is in lists, so that comparing them is a few calls of C.
    """

    def __init__(self, group: Options, options: Options, fused: Fused) -> None:
        self.group, self.options, self.fused = group, options, fused
        self.params: list[Tensor] = []
        self.states: list[State] = []

    def finish(self) -> bool:
        """Make the kernel's table; False if the kernel cannot work on this memory as it is."""
        first = self.params[0]._array
        self.seen = dict(self.group)
        self.values = [each for name, each in self.group.items() if name != "params"]
        # For each name what is remembered under it.
        self.memories = [
            (itemgetter(name), [state[name] for state in self.states])
            for name in self.fused.remembered
        ]
        self.tensors = [*self.params, *[each for _, found in self.memories for each in found]]
        self.arrays = list(map(_ARRAY, self.tensors))
        self.shapes, self.strides = [list(map(get, self.params)) for get in (_SHAPE, _STRIDES)]
        self.dtype = TYPES[first.dtype]
        self.dtypes = [first.dtype] * len(self.params)
        whole = all(each.flags.c_contiguous and each.dtype is first.dtype for each in self.arrays)
        if not whole or any(isinstance(each, Tensor) for each in self.values):
            return False
        count, words = len(self.params), []
        self.places = range(
            2, count * (2 + len(self.arrays) // count), 2 + len(self.arrays) // count
        )
        for number in range(count):
            param, *memories = self.arrays[number::count]
            words += [param.size, id(param), 0, *map(id, memories)]
        self.table = array("q", words)
        self.total = sum(param._array.size for param in self.params)
        self.run: Callable[..., None] = self.fused.kernel.compiled(self.dtype)
        return True

    def holds(self, states: dict[Any, Any]) -> bool:
        """Whether all but the gradients is as it was."""
        params, group = self.params, self.group
        now = group["params"]
        if len(now) != len(params) or not all(map(is_, now, params)):
            return False
        if not self.take_options() or not all(map(is_, map(_ARRAY, self.tensors), self.arrays)):
            return False
        if self.memories:
            if not all(map(is_, map(states.get, params), self.states)):
                return False
            for get, found in self.memories:
                if not all(map(is_, map(get, self.states), found)):
                    return False
        return True

    def gradients(self, states: dict[Any, Any]) -> list[Any] | None:
        """The arrays of all gradients, or None if something is not as it was."""
        if not self.holds(states):
            return None
        grads = list(map(_GRAD, self.params))
        if any(map(is_, grads, repeat(None))):
            return None
        try:
            arrays = list(map(_ARRAY, grads))
        except NotStrided:
            return None
        if (
            list(map(_SHAPE_OF, arrays)) != self.shapes
            or list(map(_STRIDES_OF, arrays)) != self.strides
            or not all(map(is_, map(_DTYPE_OF, arrays), self.dtypes))
        ):
            return None
        return arrays

    def take_options(self) -> bool:
        """Whether the options are as they were, but for the numbers that schedulers change."""
        group = self.group
        values = [each for name, each in group.items() if name != "params"]
        if values == self.values:
            return True
        changed = {n: each for n, each in group.items() if self.seen.get(n, self) is not each}
        if not changed.keys() <= _SCHEDULED or not all(map(_is_plain, changed.values())):
            return False
        options = {**self.options, **changed}
        if self.fused.fits is not None and not self.fused.fits(options):
            return False
        self.values, self.options = values, options
        self.seen.update(changed)
        return True

    def step(self, gradients: list[Any], writer: str, where: Place | None) -> None:
        """Update all parameters."""
        table, fused = self.table, self.fused
        numbers = fused.numbers_of(self.states, self.options)
        for place, gradient in zip(self.places, gradients, strict=True):
            table[place] = id(gradient)
        first, count = numbers[0], len(gradients)
        if numbers.count(first) == count:
            values = array(TYPECODE[self.dtype], first)
            self.run(table.buffer_info()[0], count, values.buffer_info()[0], self.total)
        else:
            for number, (gradient, each) in enumerate(zip(gradients, numbers, strict=True)):
                param, *memories = self.arrays[number::count]
                fused.kernel([(param, gradient, *memories)], each)
        if MIRRORS:
            for written in self.arrays:
                reflect(written)
        for tensor in self.tensors:
            tensor._storage.bump("optimizer", where)
        for param in self.params:
            # The error of a backward that comes too late then says what to do.
            param._storage.writer = writer


class StepPlan:
    """The kernel calls of a whole step."""

    def __init__(self, groups: list[GroupPlan], param_groups: list[Options]) -> None:
        self.groups = groups
        self.param_groups = list(param_groups)

    def has_groups(self, optimizer: Any) -> bool:
        """Whether the optimizer still has these groups."""
        if len(optimizer.param_groups) != len(self.param_groups):
            return False
        return all(map(is_, optimizer.param_groups, self.param_groups))

    def run(self, optimizer: Any, writer: str, where: Place | None) -> bool:
        """Make the step, if nothing has changed; False, and nothing done, if something has."""
        if not self.has_groups(optimizer):
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
    groups: dict[int, GroupPlan] = {}
    owners: set[int] = set()
    for number, param, state, fused in updated:
        memory = param._array
        owner = id(memory if memory.base is None else memory.base)
        group = groups.setdefault(number, GroupPlan(param_groups[number], options[number], fused))
        if owner in owners or group.fused is not fused or type(param) not in (Tensor, Parameter):
            return None
        owners.add(owner)
        group.params.append(param)
        group.states.append(state)
    whole = len(updated) == sum(len(group["params"]) for group in param_groups)
    if not whole or not all([group.finish() for group in groups.values()]):
        return None
    return StepPlan(list(groups.values()), param_groups)
