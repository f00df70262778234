"""Copies that are none: snapshots, replay entries and targets that share memory with live ones."""

from __future__ import annotations

import ast
import re
import weakref
from collections import Counter
from typing import Any

import numpy as np

from clew.core.state import local
from clew.core.tensor import Tensor, WeakTensorRef
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
from clew.kernels.runtime.numpy_capi import address_of
from clew.nn.modules.module import Module
from clew.nn.parameter import Parameter, is_lazy


class CopyWatch:
    """Sees state dicts, `.data` assignments and stacks of remembered tensors."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        # Taken state dicts: the tensors in them, by the address of their memory.
        self.taken: dict[int, tuple[Line | None, int, int]] = {}
        self.useless_loads: Counter[Line | None] = Counter()
        self.useless_load_at: dict[Line | None, Line | None] = {}
        self.shared_data: dict[Line | None, tuple[str, str]] = {}
        self.stacks: Counter[Line | None] = Counter()
        self.stack_of: dict[Line | None, Line | None] = {}
        self.aliases: dict[int, tuple[weakref.ref[Tensor], Place | None, int, int]] = {}
        self.arrays: list[tuple[weakref.ref[Any], Place | None, int, int]] = []
        self.same_object: dict[Line, tuple[str, str]] = {}
        self.unseen_writes: dict[Any, dict[str, Any]] = {}

    # -- states ----------------------------------------------------------------------------------

    def state_taken(self, module: Module, state: Any) -> None:
        line = line_of(here())
        steps = self.recorder.steps
        if len(self.taken) > 20000:
            self.taken.clear()
        for value in state.values():
            if isinstance(value, Tensor):
                self.taken[id(value)] = line, steps, id(module)

    def state_loaded(self, module: Module, state: Any) -> None:
        """Loading a tensor into the memory that it already is changes nothing."""
        for parameter in module.parameters():
            if not is_lazy(parameter):
                self.recorder.facts(parameter).loaded = True
        if not hasattr(state, "values"):
            return
        own = {address_of(p._array): p for p in module.parameters() if not is_lazy(p)}
        shared = taken_line = None
        steps = self.recorder.steps
        for value in state.values():
            if not isinstance(value, Tensor) or is_lazy(value):
                continue
            if value._array.size and address_of(value._array) in own:
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
        where = address_of(value._array)
        for other in self.recorder.by_id.values():
            live = other.ref()
            if live is None or live is tensor or live._array.shape != value._array.shape:
                continue
            if live._array.size and address_of(live._array) == where:
                line = line_of(here())
                name = known.shown if known is not None else "a tensor"
                self.shared_data[line] = name, other.shown
                return

    def alias_made(self, tensor: Tensor, result: Tensor) -> None:
        """`.detach()` or `.data` of a parameter: remembered in case it is used as a snapshot."""
        if self.recorder.stepping is not None or len(self.aliases) > 2048:
            return
        if not isinstance(tensor, Parameter) or local.state.backward_runs:
            return
        key = id(result)
        aliases = self.aliases

        def forget(_: Any) -> None:
            aliases.pop(key, None)

        number = self.recorder.facts(tensor).number
        entry = WeakTensorRef(result, forget), here(), self.recorder.steps, number
        aliases[key] = entry

    def exposed(self, array: Any) -> None:
        """NumPy sees the memory of a parameter: remembered as long as the array lives."""
        if len(self.arrays) > 4096 or not isinstance(array, np.ndarray) or not array.size:
            return
        where = address_of(array)
        for known in self.recorder.by_id.values():
            tensor = known.ref()
            if known.is_parameter and tensor is not None and address_of(tensor._array) == where:
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
            where = address_of(value._array)
            for other in inputs:
                if (
                    other is not value
                    and isinstance(other, Tensor)
                    and other._array.shape == value._array.shape
                    and value._array.size
                    and address_of(other._array) == where
                ):
                    line = line_of(entry[1])
                    self.useless_loads[line] += 1
                    self.useless_load_at[line] = line_of(here())
                    return

    def written(self, name: str, inputs: tuple[Any, ...], out: Tensor) -> None:
        """`p.copy_(snapshot)` where the snapshot is p's own memory."""
        if not self.aliases:
            return
        self.used((out, *inputs[1:]))
        entry = self.aliases.get(id(inputs[1])) if name == "copy" and len(inputs) > 1 else None
        source = None if entry is None else entry[0]()
        if entry is not None and source is not None and source is inputs[1] and out._array.size:
            line, at = line_of(entry[1]), line_of(here())
            if address_of(source._array) == address_of(out._array) and line != at:
                self.useless_loads[line] += 1
                self.useless_load_at[line] = at

    def step_ends(self) -> None:
        """Now and then: does a name that promises a copy mean the model that is trained?"""
        steps = self.recorder.steps
        if steps in (2, 8, 32, 128):
            self.kept_aliases()
            for frame in user_frames(2):
                self.look_at_names(locals_of(frame), frame.f_code.co_filename)

    def look_at_names(self, names: Any, file: str) -> None:
        """Two names for one model, one of which says that it is another one."""
        for space in (names, *(vars(v) for v in list(names.values()) if _is_plain_object(v))):
            held: dict[int, list[str]] = {}
            for name, value in list(space.items()):
                if isinstance(value, Module):
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
        models = [(name, m) for name, m in list(space.items()) if isinstance(m, Module)]
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
        addresses = Counter(address_of(t._array) for t in tensors if t._array.size)
        if not addresses:
            return
        _, most = addresses.most_common(1)[0]
        distinct = {id(t) for t in tensors if t._array.size}
        if most >= 3 and most * 2 > len(tensors) and len(distinct) >= most:
            first = next(t for t in tensors if addresses[address_of(t._array)] == most)
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
        stored = storing_statement(tensor)
        if stored is not None:
            line = line_of(here())
            self.stacks[line] += 1
            self.stack_of.setdefault(line, stored)


def _parameter_ids(module: Module) -> frozenset[int]:
    return frozenset(id(parameter) for parameter in module.parameters())


_COPY = re.compile(r"target|(^|_)ema|best|teacher|old|snapshot|backup|copy|initial", re.IGNORECASE)


def _is_plain_object(value: Any) -> bool:
    """An object of a class of the user's, whose attributes may be models."""
    return type(value).__module__ == "__main__" and hasattr(value, "__dict__")


def _is_plain_assignment(line: Line) -> bool:
    """`a = b`: one name given to what another one means."""
    statement = statement_at(line)
    return isinstance(statement, ast.Assign) and bool(dotted(statement.value))
