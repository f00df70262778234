"""Copies that are none: snapshots, replay entries and targets that share memory with live ones."""

from __future__ import annotations

import ast
import re
import weakref
from collections import Counter
from typing import Any

import numpy as np

from clew.doctor.facts.memories import MemoryWatch
from clew.doctor.facts.places import (
    Line,
    Place,
    assigned_at,
    dotted,
    here,
    line_of,
    locals_of,
    statement_at,
    user_frames,
)
from clew.doctor.facts.recorder import Recorder
from clew.doctor.facts.retained_graphs import storing_statement
from clew.observed import Tensor, WeakTensorRef


class CopyWatch:
    """Sees state dicts, `.data` assignments and stacks of remembered tensors."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.engine = recorder.engine
        # Taken state dicts: the tensors in them, by the address of their memory.
        self.taken: dict[int, tuple[Line | None, int, int]] = {}
        self.useless_loads: Counter[Line | None] = Counter()
        self.useless_load_at: dict[Line | None, Line | None] = {}
        self.shared_data: dict[Line | None, tuple[str, str]] = {}
        self.stacks: Counter[Line | None] = Counter()
        self.stack_of: dict[Line | None, Line | None] = {}
        self.aliases: dict[int, tuple[weakref.ref[Tensor], Place | None, int, int]] = {}
        # Of a line that takes aliases of a parameter: how often it had changed by the first time.
        self.first_taken: dict[tuple[Place | None, int], tuple[int, int]] = {}
        self.writes: Counter[int] = Counter()  # to parameters, by the program and not by optimizers
        self.arrays: list[tuple[weakref.ref[Any], Place | None, int, int]] = []
        self.same_object: dict[Line, tuple[str, str]] = {}
        self.memories = MemoryWatch()
        self.followers = Followers(recorder)
        self.unseen_writes: dict[Any, dict[str, Any]] = {}

    # -- states ----------------------------------------------------------------------------------

    def state_taken(self, module: Any, state: Any) -> None:
        self.followers.model_used(module)
        line = line_of(here())
        steps = self.recorder.steps
        if len(self.taken) > 20000:
            self.taken.clear()
        for held in state.values():
            value = self.engine.tensor(held)
            if value is not None:
                self.taken[id(value)] = line, steps, id(module)

    def state_loaded(self, module: Any, state: Any) -> None:
        """Loading a tensor into the memory that it already is changes nothing."""
        seen = [t for p in module.parameters() if (t := self.engine.tensor(p)) is not None]
        parameters = [tensor for tensor in seen if not self.engine.is_lazy(tensor)]
        for tensor in parameters:
            self.recorder.facts(tensor).loaded = True
        if not hasattr(state, "values"):
            return
        own = {self.engine.address(tensor) for tensor in parameters}
        shared = taken_line = None
        steps = self.recorder.steps
        for held in state.values():
            value = self.engine.tensor(held)
            if value is None or self.engine.is_lazy(value):
                continue
            if value._array.size and self.engine.address(value) in own:
                entry = self.taken.get(id(value))
                taken = steps if entry is None else entry[1]
                if entry is not None and entry[2] == id(module) and taken == steps:
                    self._loaded_into_itself()
                    return
                shared = value
                taken_line = None if entry is None else entry[0]
                break
        if shared is not None:
            line = line_of(here())
            self.useless_loads[taken_line or line] += 1
            self.useless_load_at[taken_line or line] = line

    def _loaded_into_itself(self) -> None:
        """`target.load_state_dict(online.state_dict())` where both names mean one module."""
        line = line_of(here())
        statement = statement_at(line)
        if statement is None or line is None:
            return
        for call in ast.walk(statement):
            if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
                continue
            if call.func.attr != "load_state_dict" or not call.args:
                continue
            given = call.args[0]
            target = dotted(call.func.value)
            if isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute):
                source = dotted(given.func.value)
                if target and source and target != source:
                    at = assigned_at(target, line.file) or line
                    self.useless_loads[at] += 1
                    self.useless_load_at[at] = line

    # -- parameters that share memory --------------------------------------------------------------

    def data_replaced(self, tensor: Tensor, value: Tensor) -> None:
        """`a.data = b.data`: two parameters over one memory."""
        known = self.recorder.find(tensor)
        self.recorder.data_given(tensor, here())
        where = self.engine.address(value)
        for other in self.recorder.by_id.values():
            live = other.ref()
            if live is None or live is tensor or live._array.shape != value._array.shape:
                continue
            if live._array.size and self.engine.address(live) == where:
                line = line_of(here())
                name = known.shown if known is not None else "a tensor"
                self.shared_data[line] = name, other.shown
                return

    def alias_made(self, tensor: Tensor, result: Tensor) -> None:
        """`.detach()` or `.data` of a parameter: remembered in case it is used as a snapshot."""
        if self.recorder.stepping is not None or len(self.aliases) > 2048:
            return
        if self.recorder.local.state.backward_runs:
            return
        if not self.engine.is_parameter(tensor):
            entry = self.taken.get(id(tensor))
            held = None if entry is None or entry[1] < self.recorder.steps else self._live(tensor)
            if held is None:
                return
            tensor = held
        key = id(result)
        aliases = self.aliases

        def forget(_: Any) -> None:
            aliases.pop(key, None)

        number, place = self.recorder.facts(tensor).number, here()
        aliases[key] = WeakTensorRef(result, forget), place, self.recorder.steps, number
        self.first_taken.setdefault((place, number), self._changes(number))

    def _live(self, held: Tensor) -> Tensor | None:
        """The parameter whose memory an entry of a state dict is."""
        where = self.engine.address(held) if held._array.size else None
        for known in self.recorder.by_id.values():
            tensor = known.ref()
            if not known.is_parameter or tensor is None or tensor is held:
                continue
            if tensor._array.size and self.engine.address(tensor) == where:
                return tensor
        return None

    def _changes(self, number: int) -> tuple[int, int]:
        """Differs from an earlier one if the parameter may have another value now."""
        return self.recorder.steps, self.writes[number]

    def exposed(self, array: Any) -> None:
        """NumPy sees the memory of a parameter: remembered as long as the array lives."""
        if len(self.arrays) > 4096 or not isinstance(array, np.ndarray) or not array.size:
            return
        where = self.engine.address(array)
        for known in self.recorder.by_id.values():
            tensor = known.ref()
            if known.is_parameter and tensor is not None and self.engine.address(tensor) == where:
                self.arrays.append((weakref.ref(array), here(), self.recorder.steps, known.number))
                return

    def kept_aliases(self) -> None:
        """Several aliases of one parameter, from one line and different steps: a list of them."""
        self.arrays = [entry for entry in self.arrays if entry[0]() is not None]
        steps: dict[Any, set[int]] = {}
        for _, place, step, number in (*self.arrays, *self.aliases.values()):
            steps.setdefault((place, number), set()).add(step)
        for (place, _), seen in steps.items():
            line = line_of(place)
            if len(seen) >= 3 and max(seen) - min(seen) >= 2:
                self.useless_loads[line] += 1

    def used(self, inputs: tuple[Any, ...]) -> None:
        """An old alias of a parameter meets the parameter itself: it was meant as a copy."""
        for value in inputs:
            entry = self.aliases.get(id(value))
            if entry is None or entry[2] >= self.recorder.steps:
                continue
            where = self.engine.address(value)
            for other in inputs:
                if (
                    other is not value
                    and isinstance(other, Tensor)
                    and other._array.shape == value._array.shape
                    and value._array.size
                    and self.engine.address(other) == where
                ):
                    line = line_of(entry[1])
                    self.useless_loads[line] += 1
                    self.useless_load_at[line] = line_of(here())
                    return

    def written(self, name: str, inputs: tuple[Any, ...], out: Tensor) -> None:
        """`p.copy_(snapshot)` where the snapshot is p's own memory."""
        self.followers.written(inputs, out)
        if not self.aliases:
            return
        self.used((out, *inputs[1:]))
        entry = self.aliases.get(id(inputs[1])) if name == "copy" and len(inputs) > 1 else None
        source = None if entry is None else entry[0]()
        if entry is not None and source is inputs[1] and self._is_same(source, out):
            self._copied_onto_itself(entry[1], entry[3])
            return
        known, alias = self.recorder.find(out), self.aliases.get(id(out))
        if known is not None:
            self.writes[known.number] += 1
        elif alias is not None:
            self.writes[alias[3]] += 1

    def _is_same(self, one: Tensor | None, other: Tensor) -> bool:
        """Whether two tensors begin at one place in memory."""
        if one is None or not other._array.size:
            return False
        return self.engine.address(one) == self.engine.address(other)

    def _copied_onto_itself(self, place: Place | None, number: int) -> None:
        """A mistake if the parameter has changed since that line took it for the first time."""
        line, at = line_of(place), line_of(here())
        if line != at and self.first_taken.get((place, number)) != self._changes(number):
            self.useless_loads[line] += 1
            self.useless_load_at[line] = at

    def step_ends(self) -> None:
        """Now and then: does a name that promises a copy mean the model that is trained?"""
        steps = self.recorder.steps
        if steps in (2, 8, 32, 128):
            self.kept_aliases()
            self.memories.look()
            for frame in user_frames(2):
                self.look_at_names(locals_of(frame), frame.f_code.co_filename)

    def look_at_names(self, names: Any, file: str) -> None:
        """Two names for one model, one of which says that it is another one."""
        objects = [v for v in list(names.values()) if _is_plain_object(v)]
        registered = [v for o in objects if (v := vars(o).get("_modules"))]
        for space in (names, *map(vars, objects), *registered):
            held: dict[int, list[str]] = {}
            for name, value in list(space.items()):
                if isinstance(value, self.engine.Module):
                    held.setdefault(id(value), []).append(name)
            self._shared_parameters(space, file)
            for same in held.values():
                copies = [name for name in same if _COPY.search(name)]
                if len(same) > 1 and copies and len(copies) < len(same):
                    line = assigned_at(copies[0], file) or assigned_at(f"self.{copies[0]}", file)
                    if line is not None and _is_plain_assignment(line):
                        self.same_object[line] = copies[0], same[0]

    def _shared_parameters(self, space: Any, file: str) -> None:
        """A model that is called a teacher or a target, built of the parameters of another one."""
        models = [(name, m) for name, m in list(space.items()) if isinstance(m, self.engine.Module)]
        for name, module in models:
            if not _COPY.search(name):
                continue
            own = _parameter_ids(module)
            for other, model in models:
                if model is module or _COPY.search(other) or not own:
                    continue
                if own == _parameter_ids(model):
                    line = assigned_at(name, file) or assigned_at(f"self.{name}", file)
                    if line is not None:
                        self.same_object[line] = name, other

    # -- stacks of remembered tensors --------------------------------------------------------------

    def stacked(self, inputs: tuple[Any, ...], out: Tensor) -> None:
        """Distinct tensors over one memory: entries of a buffer that were never copied."""
        tensors = [t for t in inputs if isinstance(t, Tensor)]
        if len(tensors) < 3 or any(t._requires_grad for t in tensors[:3]):
            return
        if len({id(t) for t in tensors}) == 1:
            self._one_many_times(tensors[0])
            return
        if len({id(t) for t in tensors}) < 3:
            return
        addresses = Counter(self.engine.address(t) for t in tensors if t._array.size)
        if not addresses:
            return
        _, most = addresses.most_common(1)[0]
        distinct = {id(t) for t in tensors if t._array.size}
        if most >= 3 and most * 2 > len(tensors) and len(distinct) >= most:
            first = next(t for t in tensors if addresses[self.engine.address(t)] == most)
            if first._view is not None and first._view.kind == "multi":
                return
            line = line_of(here())
            self.stacks[line] += 1
            self.stack_of.setdefault(line, self.recorder.born_at(first))

    def _one_many_times(self, tensor: Tensor) -> None:
        """One tensor, kept again and again while it was written to in place."""
        storage = tensor._storage
        if storage.version < 3 or storage.written_at is None or not tensor._array.size:
            return
        stored = storing_statement(self.engine.actual(tensor))
        if stored is not None:
            line = line_of(here())
            self.stacks[line] += 1
            self.stack_of.setdefault(line, stored)


class Followers:
    """Parameters of networks that follow another one, as a target does: is what they say used?"""

    def __init__(self, recorder: Recorder) -> None:
        self.engine = recorder.engine
        self.moved: dict[int, tuple[weakref.ref[Tensor], tuple[int, ...]]] = {}
        self.times: Counter[int] = Counter()
        self.used: set[int] = set()

    def written(self, inputs: tuple[Any, ...], out: Tensor) -> None:
        """A parameter that records no gradients is written to, with values for all of it."""
        if len(inputs) < 2 or out._requires_grad or not self.engine.is_parameter(out):
            return
        shape = tuple(out._array.shape)
        if any(isinstance(v, Tensor) and tuple(v._array.shape) == shape for v in inputs[1:]):
            if len(self.moved) < 2048:
                self.moved[id(out)] = WeakTensorRef(out), shape
            self.times[id(out)] += 1

    def model_used(self, module: Any) -> None:
        """A model is called, or its state is taken."""
        if self.moved:
            for tensor in map(self.engine.tensor, module.parameters()):
                entry = self.moved.get(id(tensor))
                if entry is not None and entry[0]() is tensor:
                    self.used.add(id(tensor))

    def is_idle(self, shapes: list[tuple[int, ...]], times: int) -> bool:
        """Whether parameters of these shapes have followed that often, and were never used."""
        idle = Counter(
            shape
            for key, (_, shape) in self.moved.items()
            if key not in self.used and self.times[key] >= times
        )
        return bool(shapes) and not Counter(shapes) - idle


def _parameter_ids(module: Any) -> frozenset[int]:
    return frozenset(id(parameter) for parameter in module.parameters())


_COPY = re.compile(
    r"target|(^|_)(ema|reference|frozen|anchor)|best|teacher|old|snapshot|backup|copy|initial|shadow|averaged"
    r"|_(t|tgt|targ|bar|prime|slow|avg|k|key)$",
    re.IGNORECASE,
)


def _is_plain_object(value: Any) -> bool:
    """An object of a class of the user's, whose attributes may be models."""
    return type(value).__module__ == "__main__" and hasattr(value, "__dict__")


def _is_plain_assignment(line: Line) -> bool:
    """`a = b`: one name given to what another one means."""
    statement = statement_at(line)
    if not isinstance(statement, ast.Assign):
        return False
    several = statement.value.elts if isinstance(statement.value, ast.Tuple) else [statement.value]
    return all(bool(dotted(each)) for each in several)
