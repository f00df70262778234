"""A session: the doctor's eyes on one run. Events come in, collectors keep, rules judge."""

from __future__ import annotations

import functools
import sys
import traceback
import weakref
from collections.abc import Callable
from typing import Any

from clew.core.op import Op
from clew.core.state import local
from clew.core.tensor import NoHistory, Tensor
from clew.doctor import passes
from clew.doctor.copies import CopyWatch
from clew.doctor.course import prefer_cuts
from clew.doctor.curves import curves
from clew.doctor.data import DataWatch
from clew.doctor.facts import Series
from clew.doctor.findings import Exit, Report
from clew.doctor.graphview import GraphView, saved_bytes, snapshot
from clew.doctor.instrument import Instrument
from clew.doctor.keeping import KeepWatch
from clew.doctor.losses import WATCHED, LossWatch
from clew.doctor.modes import ModeWatch
from clew.doctor.numbers import QUIET, QUIET_BACKWARD, NumberWatch
from clew.doctor.places import Line, Place, here
from clew.doctor.precision import PrecisionWatch
from clew.doctor.recorder import Recorder
from clew.doctor.rules import judge
from clew.doctor.schedules import ScheduleWatch
from clew.nn.modules.module import Module

_ACTIVATIONS = frozenset(
    {"relu", "sigmoid", "tanh", "threshold", "clamp_min.number", "softmax", "_safe_softmax"}
)
# Their derivative is zero wherever it exists.
_STAIRS = frozenset({"round", "floor", "ceil", "trunc", "sign", "heaviside", "sgn"})
_SPLITS = frozenset({"slice", "index_select", "split", "split_with_sizes", "select"})
_LARGEST_PICTURE = 4000
_STACKS = frozenset({"stack", "cat"})


def event(method: Callable[..., Any]) -> Callable[..., Any]:
    """An event handler: a mistake in it must not become an error of the user's program.

    It is not hidden either: the report says that something failed, and what.
    """

    @functools.wraps(method)
    def safe(self: Session, *args: Any) -> Any:
        try:
            return method(self, *args)
        except Exception as error:
            self.failed(error)
            return None

    return safe


class Session:
    """Watches a run from `start` to `stop`."""

    quiet_backward = QUIET_BACKWARD

    def __init__(self) -> None:
        self.recorder = Recorder()
        self.numbers = NumberWatch(self.recorder)
        self.losses = LossWatch(self.recorder)
        self.modes = ModeWatch(self.recorder)
        self.data = DataWatch(self.recorder)
        self.keeping = KeepWatch(self.recorder)
        self.copies = CopyWatch(self.recorder)
        self.precision = PrecisionWatch(self.recorder)
        self.schedules = ScheduleWatch(self.recorder)
        self.instrument = Instrument(self)
        self.roots: tuple[Any, ...] = ()
        self.held = Series()  # bytes that graphs hold when backward begins
        self.picture: GraphView | None = None
        self.stack: list[Module] = []
        self.exit = Exit()
        self.error: BaseException | None = None
        self.error_facts: dict[str, Any] = {}
        self.active = False
        self.failures: list[str] = []
        # What rules tell each other: parameters whose fate is explained, and how training went.
        self.explained: set[int] = set()
        self.diverges = False
        self.growth = 1.0
        self.too_fast = False
        self.schedules.is_scaled = self.precision.is_scaled
        self.data.batch = lambda: self.modes.batch
        self.losses.in_module = lambda: bool(self.stack)

    # -- life ------------------------------------------------------------------------------------

    def start(self) -> None:
        if not self.active:
            self.instrument.install()
            self.active = True

    def stop(self) -> None:
        if self.active:
            if self.keeping.leak is None:
                self.keeping.look()
            main = sys.modules.get("__main__")
            if main is not None and self.recorder.steps:
                self.copies.kept_aliases()
                self.copies.look_at_names(vars(main), getattr(main, "__file__", None) or "")
            self.instrument.remove()
            self.active = False

    def failed(self, error: Exception) -> None:
        """The doctor itself made a mistake: it is reported, and the program goes on."""
        if len(self.failures) < 8:
            self.failures.append("".join(traceback.format_exception(error)).strip())

    def ended_by(self, error: BaseException) -> None:
        """The program ended by an exception, or by leaving."""
        status = "exit" if isinstance(error, SystemExit) else "exception"
        self.exit = Exit(status, type(error).__name__, str(error))
        if status == "exception":
            self.error = error

    # -- operations (hot: every operation passes here) -------------------------------------------

    def op_ran(self, op: Op, state: Any, inputs: tuple[Any, ...], params: Any, out: Tensor) -> None:
        # Every operation passes here: `@event` would cost as much as the common case does.
        if out._is_lifted or (state.backward_runs and not self.numbers.in_custom):
            return  # a tensor of vmap has no values; formulas of gradients are not the user's
        try:
            self._op_ran(op, state, inputs, params, out)
        except Exception as error:
            self.failed(error)

    def _op_ran(
        self, op: Op, state: Any, inputs: tuple[Any, ...], params: Any, out: Tensor
    ) -> None:
        name = op.name
        numbers = self.numbers
        if name not in QUIET:
            if numbers.reported is None:
                numbers.check(name, inputs, out)
        elif numbers.tainted:
            numbers.hand_on(inputs, out)
        if out._node is not None:
            for value in inputs:
                if isinstance(value, Tensor):
                    reason = value._reason
                    if reason is not None and not value._requires_grad:
                        self.recorder.history_joined(out._node, reason)
            if name in _ACTIVATIONS and numbers.sampling:
                self._activation(name, out)
            elif name in _STAIRS:
                self.recorder.history_cut(NoHistory("stairs", name, out._node._where), out._node)
            self.keeping.node_made(out)
            if not self.recorder.backwards and name not in QUIET and out._array.ndim > 1:
                numbers.scale(out._node._where, inputs, out)
        else:
            if out._reason is not None and out._reason.kind == "numpy":
                prefer_cuts(inputs, out)
            if not state.grad_enabled and self.recorder.stepping is None:
                for value in inputs:
                    if isinstance(value, Tensor) and value._requires_grad:
                        self._used_without_grad(state, value)
                self.modes.op_without_grad(name)
        if name in WATCHED:
            self.losses.op_ran(name, inputs, params, out)
        if name == "_dropout_noise" and self.stack:
            self.modes.dropout_ran(self.stack)
        if name in _STACKS:
            self.copies.stacked(inputs, out)
        if self.copies.aliases:
            self.copies.used(inputs)

    def node_ran(self, node: Any, grads: Any, results: Any) -> None:
        try:
            self.numbers.node_ran(node, grads, results)
        except Exception as error:
            self.failed(error)

    def _used_without_grad(self, state: Any, value: Tensor) -> None:
        node = value._node
        if node is None or node.is_accumulator:
            reason = state.no_grad_reason
            place = None if reason is None else reason.where
            self.recorder.used_without_grad(value, place)

    def _activation(self, name: str, out: Tensor) -> None:
        place: Place | None = None
        key: Any = None
        if self.stack:
            inner = self.stack[-1]
            if type(inner).__module__.startswith("clew."):
                facts = self.recorder.module_facts(inner)
                place = None if facts is None else facts.born
                key = id(inner)
        if place is None and out._node is not None:
            place = out._node._where
            key = place, id(self.stack[-1]) if self.stack else 0
        self.numbers.activation(name, (name, key), place, out)

    @event
    def view_made(self, op: Op, source: Tensor, params: Any, out: Tensor) -> None:
        if self.numbers.tainted:
            self.numbers.hand_on((source,), out)
        in_users_module = bool(self.stack) and not type(self.stack[-1]).__module__.startswith(
            "clew."
        )
        if in_users_module and op.name == "view":
            self.data.viewed(source, out)
        elif out._node is not None:
            return
        elif op.name in _SPLITS and not self.stack:
            self.data.split(source, out)

    @event
    def written(
        self, op: Op, state: Any, inputs: tuple[Any, ...], params: Any, out: Tensor
    ) -> None:
        if self.recorder.stepping is not None:
            return
        name = op.name
        if name not in QUIET:
            self.numbers.check(name + "_", inputs[1:], out)
        if out._node is not None and not out._node.is_accumulator:
            for value in inputs[1:]:
                if isinstance(value, Tensor) and value._reason is not None:
                    self.recorder.history_joined(out._node, value._reason)
            if name in _ACTIVATIONS and self.numbers.sampling:
                self._activation(name, out)
            self.keeping.node_made(out)
        self.schedules.written(name, out)
        self._updated_by_hand(out)
        self.copies.written(name, inputs, out)

    def _updated_by_hand(self, out: Tensor) -> None:
        """A parameter is written to outside an optimizer: with a stale gradient?"""
        known = self.recorder.find(out)
        if known is None:
            entry = self.copies.aliases.get(id(out))
            known = None if entry is None else self.recorder.params[entry[3]]
        if known is not None and known.stale:
            known.stale_updates += 1

    # -- histories -------------------------------------------------------------------------------

    @event
    def history_cut(self, reason: NoHistory, node: Any) -> None:
        if self.recorder.stepping is None:
            self.recorder.history_cut(reason, node)

    @event
    def value_left(self, tensor: Tensor, how: str) -> None:
        if tensor._requires_grad:
            node = tensor._node
            last = local.state.last_backward
            # After its backward, a value that leaves the graph is for the log.
            if node is not None and (last is None or node._seq > last[0]):
                reason = NoHistory("exit", how, here())
                self.recorder.history_cut(reason, node)

    @event
    def mode_of_function(self, place: Place | None) -> None:
        reason = local.state.no_grad_reason
        if reason is not None:
            reason.where = place

    @event
    def data_replaced(self, tensor: Tensor, value: Any) -> None:
        if isinstance(value, Tensor):
            self.copies.data_replaced(tensor, value)

    @event
    def alias_made(self, tensor: Tensor, result: Tensor) -> None:
        self.copies.alias_made(tensor, result)

    @event
    def grad_set(self, tensor: Tensor, value: Tensor | None) -> None:
        known = self.recorder.find(tensor)
        if known is None:
            return
        if value is None or not value._array.any():
            if tensor._grad is not None and self.recorder.stepping is None:
                self.recorder.grad_cleared(known, here())
        else:
            known.scaled_when = self.recorder.tick()

    @event
    def grad_read(self, tensor: Tensor) -> None:
        known = self.recorder.find(tensor)
        if known is not None:
            self.recorder.grad_used(known)

    @event
    def memory_exposed(self, array: Any) -> None:
        self.copies.exposed(array)

    @event
    def saved_was_modified(
        self, node: Any, name: str, array: Any, storage: Any, version: int
    ) -> None:
        self.error_facts = {
            "kind": "modified", "saved_at": node._where, "saved_by": node.name(),
            "written_at": storage.written_at, "writer": storage.writer or "a write",
            "module": node.module_path, "seq": node._seq, "at": here(),
        }  # fmt: skip

    @event
    def saved_was_modified_unseen(self, node: Any, name: str, array: Any, write: Any) -> None:
        self.copies.unseen_writes.setdefault(
            write[2],
            {"saved_at": node._where, "saved_by": node.name(), "writer": write[1], "count": 0},
        )["count"] += 1

    @event
    def went_backward_twice(self, node: Any, freed: Any) -> None:
        self.error_facts = {
            "kind": "twice", "built_at": node._where, "op": node.name(), "freed_at": freed.where,
            "at": here(), "seq": node._seq, "module": node.module_path,
        }  # fmt: skip

    # -- backward --------------------------------------------------------------------------------

    @event
    def backward_begins(self, run: Any, roots: Any) -> Any:
        tensors, self.roots = self.roots, ()
        if run.accumulate:
            if tensors:
                self.numbers.loss_seen(tensors[0])
            self.losses.backward_begins(run, roots)
            self.precision.backward_begins(run, tensors)
            self.modes.backward_begins(run)
            self.data.went_backward(self.modes.trained)
            self.data.backward_begins(run, roots)
            self.numbers.mark_outputs(roots)
            if self.numbers.sampling:
                self._measure(run, roots)
        return passes.backward_begins(self.recorder, run, roots, tensors)

    def _measure(self, run: Any, roots: Any) -> None:
        """What the graph holds, and once, what it looks like."""
        owned: set[int] = set()
        held = sum(saved_bytes(node, owned) for node in run.accounts)
        self.held.add(self.recorder.steps, held)
        if self.picture is None and len(run.accounts) <= _LARGEST_PICTURE:
            names = {
                id(tensor): known.name
                for known in self.recorder.params.values()
                if known.name and (tensor := known.ref()) is not None
            }
            cuts = {node._seq: [reason] for node, reason in self.recorder.joins.items()}
            self.picture = snapshot([node for node, _ in roots], names, cuts)

    @event
    def backward_ends(self, run: Any, begun: Any) -> None:
        if begun is None:
            return
        passes.backward_ends(self.recorder, run, begun)
        self.numbers.backward_done(begun[2], run.accumulate)
        if run.accumulate and not self.recorder.optimizers:
            members = [(known, tensor) for known, tensor, _ in begun[2]]
            self.data.first_step(members)
            if self.numbers.sampling:
                self.data.look_at_rows(members)
            self.numbers.choose(self.recorder.backwards)
        self.precision.backward_ends(run, begun[2])
        self.keeping.backward_ends(run, begun)

    # -- optimizers ------------------------------------------------------------------------------

    @event
    def optimizer_made(self, optimizer: Any) -> None:
        self.recorder.optimizer_made(optimizer, here())

    @event
    def zero_grad(self, owner: Any) -> None:
        place = here()
        if isinstance(owner, Module):
            self.recorder.grads_cleared(owner.parameters(), place)
            return
        params = [p for group in owner.param_groups for p in group["params"]]
        self.recorder.grads_cleared(params, place)
        from_line = self.recorder.optimizer_facts(owner).zero_at
        from_line[self.schedules.line(place)] += 1

    @event
    def step_begins(self, optimizer: Any, has_closure: bool) -> None:
        facts = self.recorder.step_begins(optimizer, has_closure)
        members = self.recorder.members(facts)
        self.modes.step_begins(facts)
        self.precision.step_begins(members)
        if not facts.steps:
            self.data.first_step(members)
        self.numbers.step_begins([] if has_closure else members)

    @event
    def step_ends(self, optimizer: Any) -> None:
        if self.numbers.sampling and self.recorder.stepping is not None:
            self.data.look_at_rows(self.recorder.members(self.recorder.stepping))
        self.recorder.step_ends(optimizer)
        self.numbers.step_ends()
        self.keeping.step_ends()
        self.copies.step_ends()

    @event
    def scheduler_made(self, scheduler: Any) -> None:
        self.schedules.made(scheduler)

    @event
    def scheduler_steps(self, scheduler: Any) -> None:
        self.schedules.stepped(scheduler)

    @event
    def clipping(self, tensors: list[Tensor]) -> None:
        self.schedules.clipping(tensors)

    # -- modules ---------------------------------------------------------------------------------

    @event
    def module_made(self, module: Module) -> None:
        self.recorder.module_born(module, here())

    @event
    def parameter_made(self, parameter: Any, data: Any) -> None:
        if isinstance(parameter, Tensor):
            place = here()
            self.recorder.tensor_born(parameter, place)
            node = data._node if isinstance(data, Tensor) else None
            if node is not None and not node.is_accumulator:
                reason = NoHistory("detach", "nn.Parameter(...)", place, node)
                self.recorder.joined_again(reason)

    @event
    def tensor_made(self, tensor: Tensor) -> None:
        self.recorder.tensor_born(tensor, here())

    @event
    def dataset_made(self, dataset: Any) -> None:
        self.data.dataset_made(dataset)

    @event
    def compared(self, a: Any, b: Any, out: Any) -> None:
        self.losses.similarity(a, b, out)

    @event
    def module_entered(self, module: Module, args: Any, kwargs: Any) -> Any:
        stack = self.stack
        stack.append(module)
        facts = self.recorder.modules.get(id(module))
        if facts is not None:
            facts.calls += 1
            if facts.calls < 4 and module.__dict__.get("batch_first") is False:
                self.modes.sequence_layer(module, args)
        if len(stack) > 1:
            return None
        if facts is None or facts.ref() is not module:
            # A copy: it was made without a call of its constructor.
            self.recorder.module_born(module, None)
            facts = self.recorder.modules[id(module)]
        if args and isinstance(args[0], Tensor) and args[0]._array.ndim:
            self.modes.batch = args[0]._array.shape[0]
        for value in args:
            if isinstance(value, Tensor) and value._requires_grad and value._node is not None:
                known = self.recorder.find(value)
                if known is not None:
                    known.used_as_input = True
        if facts is not None and not facts.named:
            facts.named = True
            self.recorder.name_parameters(module)
        return self.modes.root_called(module, args)

    @event
    def module_left(self, module: Module, entered: Any, result: Any) -> None:
        self.modes.root_left(module, entered, result)
        self.data.root_called(module, entered, result)
        entered.args = ()  # a call that waits for its backward must not keep its inputs alive
        self.keeping.output_made(result)

    @event
    def mode_set(self, module: Module, mode: bool) -> None:
        if not any(each is module for each in self.stack):
            self.modes.mode_set(module, mode)

    # -- mixed precision, states -----------------------------------------------------------------

    @event
    def scaled(self, scaler: Any, outputs: Any) -> None:
        self.precision.scaled(scaler)
        self.numbers.expects_overflow = bool(scaler.is_enabled())
        if scaler.is_enabled():
            self.recorder.loss_scale = float(scaler.get_scale())

    @event
    def unscaled(self, scaler: Any, optimizer: Any) -> None:
        self.precision.unscaled(scaler, optimizer)

    @event
    def scaler_steps(self, scaler: Any, optimizer: Any) -> None:
        self.precision.scaler_steps(scaler, optimizer)
        self.recorder.optimizer_facts(optimizer).attempts += 1

    @event
    def autocast_entered(self, region: Any) -> None:
        self.precision.autocast_entered(region)

    @event
    def state_taken(self, module: Module, state: Any) -> None:
        self.copies.state_taken(module, state)

    @event
    def state_loaded(self, module: Module, state: Any) -> None:
        self.copies.state_loaded(module, state)

    # -- the end ---------------------------------------------------------------------------------

    def lonely_roots(self) -> list[tuple[Line | None, Line | None, int]]:
        """Backward passes from leaves: the leaf's line, the cut behind it, how often."""
        return [(born, cut, count) for (born, cut), count in self.recorder.lonely.items()]

    def user_files(self) -> list[str]:
        """The files of the user's program that took part in training."""
        places = [site.place for site in self.recorder.sites.values()]
        places += [o.born for o in self.recorder.optimizers.values()]
        return list(dict.fromkeys(place[0].co_filename for place in places if place is not None))

    @event
    def asked_for_grad(self, tensor: Tensor) -> None:
        """Before `requires_grad_(True)`, which forgets why there was no history."""
        if tensor._reason is not None and len(self.recorder.overridden) < 10000:
            self.recorder.overridden[id(tensor)] = weakref.ref(tensor), tensor._reason
            self.recorder.joined_again(tensor._reason)

    def live_report(self, script: str) -> Report:
        """A report from another thread, while the program goes on and changes what is recorded."""
        before = len(self.failures)
        report = self.report(script)
        for _ in range(3):
            if len(self.failures) == before:
                break
            # Something grew while it was read: what counts is the report at the end.
            del self.failures[before:]
            report = self.report(script)
        return report

    def report(self, script: str = "") -> Report:
        """Judge what was seen so far."""
        findings = judge(self)
        return Report(
            findings=findings,
            script=script,
            exit=self.exit,
            iterations=self.recorder.steps or self.recorder.backwards,
            series=curves(self),
            graph=self.picture,
        )
