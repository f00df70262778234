"""What a session is told of operations and histories; most of this runs at every operation."""

from __future__ import annotations

import functools
import signal
import threading
import traceback
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from clew.core.no_history import NoHistory
from clew.doctor.facts.batch_mixing import GROUPED
from clew.doctor.facts.copies import CopyWatch
from clew.doctor.facts.data import DataWatch
from clew.doctor.facts.engine import Engine
from clew.doctor.facts.flow import FlowWatch
from clew.doctor.facts.losses import WATCHED, LossWatch
from clew.doctor.facts.numerics import CLAMPS, QUIET, QUIET_BACKWARD, NumberWatch
from clew.doctor.facts.partial_cuts import PAIRS, PartialCuts
from clew.doctor.facts.places import Line, Place, here, line_of
from clew.doctor.facts.precision import PrecisionWatch
from clew.doctor.facts.recorder import Recorder
from clew.doctor.facts.records import Series
from clew.doctor.facts.repeats import RepeatWatch
from clew.doctor.facts.retained_graphs import KeepWatch
from clew.doctor.facts.schedulers import ScheduleWatch
from clew.doctor.facts.terms import TermWatch
from clew.doctor.facts.train_eval import ModeWatch
from clew.doctor.report.graph_view import GraphView
from clew.forking import add_lock
from clew.observed import UNSEEN, Node, Tensor, WeakTensorRef, elements
from clew.observer import Observer

_ACTIVATIONS = frozenset(
    {"relu", "sigmoid", "tanh", "threshold", "softmax", "_safe_softmax"} | CLAMPS
)
# Their derivative is zero wherever it exists.
_STAIRS = frozenset({"round", "floor", "ceil", "trunc", "sign", "heaviside", "sgn"})
_PRODUCTS = frozenset({"mm", "mv", "addmm", "addmv"})
_SPLITS = frozenset({"slice", "index_select", "split", "split_with_sizes", "select"})
_STACKS = frozenset({"stack", "cat"})
_PICKS = frozenset({"index", "index_select"})
_MANY_STAIRS = 64
# Backward passes in which the results of custom functions are looked at.
_FUNCTIONS = 12
# Seconds that a thread waits for another one's event; then it goes on without telling its own.
_PATIENCE = 1.0


def event(method: Callable[..., None]) -> Callable[..., None]:
    """An event handler: a mistake in it must not become an error of the user's program.

    It is not hidden either: the report says that something failed, and what.
    """

    @functools.wraps(method)
    def safe(self: OperationEvents, *args: Any) -> None:
        if self.local.state is not self.home or self.is_careful:
            self.with_care(method, self, *args)
            return
        try:
            method(self, *args)
        except UNSEEN:
            pass
        except Exception as error:  # the docstring says why
            self.failed(error)

    return safe


def is_from_signal_handler(error: BaseException) -> bool:
    """Whether the program itself raised an error, in a handler that ran during an event."""
    handlers = (signal.getsignal(number) for number in signal.valid_signals())
    codes = {code for each in handlers if (code := getattr(each, "__code__", None)) is not None}
    frames = traceback.walk_tb(error.__traceback__)
    return any(frame.f_code in codes for frame, _ in frames)


def _has_values(gradients: Any) -> bool:
    """Whether one of several gradients is not zero throughout."""
    arrays = (elements(g) if isinstance(g, Tensor) else g for g in gradients)
    return any(array is not None and bool(array.any()) for array in arrays)


class _Calls(threading.local):
    """The modules that a thread is in, outermost first, and what is known of the outermost call."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.root: Any = None


class OperationEvents(Observer):
    """The collectors of a session, and what operations tell them."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.local = engine.local
        # Careful: a second thread has something to tell, or NumPy reports infinities.
        self.home = self.local.state
        self.is_careful = False
        self.lock = add_lock(self, "lock", threading.RLock)
        self.calls = _Calls()
        self.recorder = Recorder(engine)
        self.numbers = NumberWatch(self.recorder)
        self.losses = LossWatch(self.recorder)
        self.modes = ModeWatch(self.recorder)
        self.data = DataWatch(self.recorder)
        self.terms = TermWatch(self.recorder)
        self.keeping = KeepWatch(self.recorder)
        self.copies = CopyWatch(self.recorder)
        self.precision = PrecisionWatch(self.recorder)
        self.schedules = ScheduleWatch(self.recorder)
        self.repeats = RepeatWatch(self.recorder)
        self.flow = FlowWatch()
        self.partial = PartialCuts(self.recorder)
        self.held = Series()  # bytes that graphs hold when backward begins
        self.picture: GraphView | None = None
        self.root_reason: NoHistory | None = None  # of the last loss that had no history
        self.error_facts: dict[str, Any] = {}
        self.failures: list[str] = []
        # The lines that cut off what the graphs since the last step have taken in.
        self.stairs: list[weakref.ref[Node]] = []  # operations without a slope, since the last pass
        self.joined_lately: set[Line | None] = set()
        self.schedules.is_scaled = self.precision.is_scaled
        self.data.batch = lambda: self.modes.batch
        self.data.is_source = self.repeats.is_source
        self.losses.in_module = lambda: bool(self.stack)
        self.losses.target_given = self.repeats.target_given
        self.losses.mixing.in_module = lambda: bool(self.stack)
        self.losses.mixing.module = lambda: self.stack[-1] if self.stack else None

    @property
    def stack(self) -> list[Any]:
        """The modules that the running thread is in."""
        return self.calls.stack

    def failed(self, error: Exception) -> None:
        """The doctor itself made a mistake: it is reported, and the program goes on."""
        if is_from_signal_handler(error):
            raise error
        if len(self.failures) < 8:
            self.failures.append("".join(traceback.format_exception(error)).strip())

    def with_care(self, handle: Callable[..., None], *args: Any) -> None:
        """Handle an event while no other thread does, and without words from NumPy."""
        self.is_careful = True
        if self.lock.acquire(timeout=_PATIENCE):
            try:
                with np.errstate(all="ignore"):
                    handle(*args)
            except UNSEEN:
                pass
            except Exception as error:  # as in `event`
                self.failed(error)
            finally:
                self.lock.release()

    def look_at_settings(self) -> None:
        """Now and then: does NumPy warn, or raise, where a result is infinite?"""
        if not self.engine.is_hushed:
            self.is_careful |= any(how != "ignore" for how in np.geterr().values())

    # -- operations (hot: every operation passes here) -------------------------------------------

    def op_ran(self, op: str, inputs: tuple[Any, ...], params: Any, output: Tensor) -> None:
        # Every operation passes here: `@event` would cost as much as the common case does.
        try:
            if not self.numbers.is_looking:
                return
            state = self.local.state
            if output._is_lifted:
                return  # a tensor of vmap has no values
            if state.backward_runs and not self.numbers.in_custom:
                self.numbers.hook_ran(op, inputs, output)
                return  # formulas of gradients are not the user's; hooks are
            if state is not self.home or self.is_careful:
                self.with_care(self._op_ran, op, state, inputs, params, output)
            else:
                self._op_ran(op, state, inputs, params, output)
        except UNSEEN:
            pass
        except Exception as error:  # as in `event`
            self.failed(error)

    def _op_ran(
        self, name: str, state: Any, inputs: tuple[Any, ...], params: Any, out: Tensor
    ) -> None:
        numbers = self.numbers
        stack = self.calls.stack
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
                        self.joined_lately.add(line_of(reason.where))
                        if self.partial.is_open:
                            self.partial.joined(out._node, reason)
                        if reason.kind == "gradient":
                            self.losses.gradient_joined(name, out._node, reason)
            if name in PAIRS and self.partial.is_open:
                self.partial.paired(inputs, out._node)
            if name in _ACTIVATIONS and numbers.sampling:
                self._activation(name, out)
            elif name in _STAIRS:
                self.recorder.history_cut(NoHistory("stairs", name, out._node._where), out._node)
                if len(self.stairs) < _MANY_STAIRS:
                    self.stairs.append(weakref.ref(out._node))
            self.keeping.node_made(out)
            if not self.recorder.backwards and name not in QUIET and out._array.ndim > 1:
                numbers.scale(out._node._where, inputs, out)
        else:
            if not stack and self.losses.targets.is_open:
                self.losses.targets.data_made(inputs, out)
            if name == "clone" and self.recorder.stepping is None:
                self.recorder.tensor_born(out, here())
            elif name == "_unsafe_view" and out._array.ndim == 1 == inputs[0]._array.ndim - 1:
                self.losses.mixing.flattened(inputs[0], out)
            if not state.grad_enabled and self.recorder.stepping is None:
                for value in inputs:
                    if isinstance(value, Tensor) and value._requires_grad:
                        self._used_without_grad(state, value)
                self.modes.op_without_grad(name)
        if name in WATCHED:
            self.losses.op_ran(name, inputs, params, out)
        if name in _PRODUCTS and not stack:
            self._product_by_hand(inputs)
        if name == "_dropout_noise" and stack:
            self.modes.dropout_ran(stack)
        if name == "_unsafe_view" and stack:
            self._reshaped(inputs[0], out)  # `reshape` of what is not contiguous
        if name in _STACKS:
            self.copies.stacked(inputs, out)
        elif name in _PICKS:
            self.repeats.rows_picked(inputs, out)
        if self.copies.aliases:
            self.copies.used(inputs)

    def _product_by_hand(self, inputs: tuple[Any, ...]) -> None:
        """A matrix of data times a parameter, in the user's own code."""
        data, weights = inputs[-2:]
        if (
            isinstance(data, Tensor)
            and isinstance(weights, Tensor)
            and weights._requires_grad
            and not (data._requires_grad or self.engine.is_parameter(data))
            and (weights._node is None or weights._node.is_accumulator)
        ):
            self.data.multiplied(data, weights)

    def node_ran(self, node: Node, grads: Any, results: Any) -> None:
        # As above: most nodes pass here.
        try:
            if not node._is_op:
                # The operations of a custom function's backward are seen themselves.
                if not node.is_accumulator and self.recorder.backwards < _FUNCTIONS:
                    self._function_ran(node, grads, results)
                return
            if self.flow.is_open:
                self._gradient_seen(node, grads[0])
            if node.op.name in QUIET_BACKWARD:
                return
            if self.local.state is not self.home or self.is_careful:
                self.with_care(self.numbers.node_ran, node, grads, results)
            else:
                self.numbers.node_ran(node, grads, results)
        except UNSEEN:
            pass
        except Exception as error:  # as in `event`
            self.failed(error)

    @event
    def _gradient_seen(self, node: Node, grad: Any) -> None:
        self.flow.node_ran(node, grad)

    @event
    def function_backward_begins(self, node: Node) -> None:
        self.numbers.in_custom += 1

    @event
    def function_backward_ends(self, node: Node) -> None:
        self.numbers.in_custom -= 1

    @event
    def _function_ran(self, node: Node, grads: Any, results: Any) -> None:
        """A custom function that gives none of its inputs a gradient, whatever it gets."""
        given = [edge for edge in node._edges if edge is not None]
        if given and _has_values(grads) and not _has_values(results):
            name = f"the backward of {node._name().removesuffix('Backward')}"
            self.recorder.history_cut(NoHistory("stairs", name, node._where), node)
            self.recorder.cuts[line_of(node._where)].used = True

    def _used_without_grad(self, state: Any, value: Tensor) -> None:
        node = value._node
        if node is None or node.is_accumulator:
            reason = state.no_grad_reason
            place = None if reason is None else reason.where
            self.recorder.used_without_grad(value, place)
        elif self.partial.is_open and state.no_grad_reason is not None:
            self._cut_as_well(state.no_grad_reason, node)

    def _cut_as_well(self, reason: NoHistory, node: Any) -> None:
        """A mode cuts all that is computed in it; its reason names the first value only."""
        self.recorder.cut_as_well(reason, node)
        self.partial.cut(reason, node)

    def _activation(self, name: str, out: Tensor) -> None:
        place: Place | None = None
        key: Any = None
        stack = self.stack
        if stack:
            inner = stack[-1]
            if self.engine.is_layer(inner):
                facts = self.recorder.module_facts(inner)
                place = None if facts is None else facts.born
                key = id(inner)
        if place is None and out._node is not None:
            place = out._node._where
            key = place, id(stack[-1]) if stack else 0
        self.numbers.activation(name, (name, key), place, out)

    def view_made(self, op: str, base: Tensor, output: Tensor) -> None:
        try:
            # Most views are a layer's own transposes, of which there is nothing to learn.
            if op == "view" or output._node is None or self.partial.is_open or self.numbers.tainted:
                self._view_made(op, base, output)
        except UNSEEN:
            pass
        except Exception as error:  # as in `event`
            self.failed(error)

    @event
    def _view_made(self, op: str, source: Tensor, out: Tensor) -> None:
        if self.numbers.tainted:
            self.numbers.hand_on((source,), out)
        if op == "view" and out._node is None and out._array.ndim == 1 == source._array.ndim - 1:
            self.losses.mixing.flattened(source, out)
        if self.partial.is_open and source._node is not None and not self.local.state.grad_enabled:
            reason = self.local.state.no_grad_reason
            if reason is not None and not source._node.is_accumulator:
                self._cut_as_well(reason, source._node)
        if op == "view" and self.stack:
            self._reshaped(source, out)
        elif op in _SPLITS and not self.stack and out._node is None:
            self.data.split(source, out)

    def _reshaped(self, source: Tensor, out: Tensor) -> None:
        """A view of the user's, in a module of the user's."""
        if not self.engine.is_layer(self.stack[-1]) and self.engine.is_reshape():
            self.data.viewed(source, out)

    @event
    def inplace_op_ran(self, op: str, inputs: tuple[Any, ...], output: Tensor) -> None:
        if self.recorder.stepping is not None:
            return
        if op not in QUIET:
            self.numbers.check(op + "_", inputs[1:], output)
        if output._node is not None and not output._node.is_accumulator:
            for value in inputs[1:]:
                if isinstance(value, Tensor) and value._reason is not None:
                    self.recorder.history_joined(output._node, value._reason)
                    if self.partial.is_open:
                        self.partial.joined(output._node, value._reason)
            if op in _ACTIVATIONS and self.numbers.sampling:
                self._activation(op, output)
            self.keeping.node_made(output)
            if op in GROUPED:
                self.losses.mixing.grouped(inputs, output)
        elif op == "copy":
            self.recorder.written_to_leaf(inputs[-1])
        self.schedules.written(op, inputs, output)
        self._updated_by_hand(output)
        self.copies.written(op, inputs, output)

    def _updated_by_hand(self, out: Tensor) -> None:
        """A parameter is written to outside an optimizer: with a stale gradient?"""
        known = self.recorder.find(out)
        if known is None:
            entry = self.copies.aliases.get(id(out))
            known = None if entry is None else self.recorder.params[entry[3]]
        if known is None or not known.reached:
            return
        if known.stale:
            known.stale_updates += 1
        tensor = known.ref()
        if tensor is not None:
            known.updated_by_hand(tensor._grad)

    # -- histories -------------------------------------------------------------------------------

    @event
    def history_cut(self, reason: NoHistory, node: Any) -> None:
        if self.recorder.stepping is None:
            self.recorder.history_cut(reason, node)
            if self.partial.is_open:
                self.partial.cut(reason, node)

    @event
    def value_left(self, tensor: Tensor, how: str) -> None:
        if tensor._requires_grad:
            node = tensor._node
            last = self.local.state.last_backward
            reason = NoHistory("exit", how, here())
            if node is None or node.is_accumulator:
                self.recorder.leaf_left(tensor, reason)
            # After its backward, a value that leaves the graph is for the log.
            elif last is None or node._seq > last[0]:
                self.recorder.history_cut(reason, node)
        if self.partial.is_open:
            self.partial.left(tensor, line_of(here()))

    @event
    def data_set(self, tensor: Tensor, value: Any) -> None:
        if isinstance(value, Tensor):
            self.copies.data_replaced(tensor, value)
            self.recorder.written_to_leaf(value)
            known = self.recorder.find(tensor)
            if known is not None and known.reached and self.recorder.stepping is None:
                known.manual += 1
                known.stale_updates += known.stale

    @event
    def alias_made(self, tensor: Tensor, alias: Tensor) -> None:
        self.copies.alias_made(tensor, alias)
        if self.recorder.stepping is None:
            self.recorder.tensor_born(alias, here())

    @event
    def grad_set(self, tensor: Tensor, value: Tensor | None) -> None:
        known = self.recorder.find(tensor)
        if known is None or not isinstance(value, Tensor | None):
            return
        if value is None or not elements(value).any():
            at_step = self.recorder.stepping is not None and not self.recorder.in_closure
            if tensor._grad is not None and not at_step:
                self.recorder.grad_cleared(known, self.recorder.clearing_stack())
        else:
            known.scaled_when = self.recorder.tick()
            self.schedules.replaced(known, tensor._grad, value)

    @event
    def grad_read(self, tensor: Tensor, grad: Tensor | None) -> None:
        if grad is None:
            if not tensor._requires_grad and not self.engine.is_parameter(tensor):
                self.recorder.facts(tensor).grad_wanted += 1
            return
        known = self.recorder.find(tensor)
        if known is not None:
            known.stale_reads += known.stale
            self.recorder.grad_used(known)

    @event
    def memory_shared(self, array: Any) -> None:
        self.copies.exposed(array)

    @event
    def saved_tensor_modified(self, node: Any, writer: str, written_at: Any) -> None:
        self.error_facts = {
            "kind": "modified", "saved_at": node._where, "saved_by": node._name(),
            "written_at": written_at, "writer": writer,
            "module": node.module_path, "seq": node._seq, "at": here(),
        }  # fmt: skip

    @event
    def saved_tensor_modified_untracked(self, node: Any, writer: str, written_at: Any) -> None:
        self.copies.unseen_writes.setdefault(
            written_at,
            {"saved_at": node._where, "saved_by": node._name(), "writer": writer, "count": 0},
        )["count"] += 1

    @event
    def backward_without_history(self, output: Tensor) -> None:
        self.root_reason = output._reason

    @event
    def backward_twice(self, node: Any, freed_at: Any) -> None:
        self.error_facts = {
            "kind": "twice", "built_at": node._where, "op": node._name(), "freed_at": freed_at,
            "at": here(), "seq": node._seq, "module": node.module_path,
        }  # fmt: skip

    @event
    def requires_grad_set(self, tensor: Tensor) -> None:
        # From now on it is forgotten why there was no history.
        if self.recorder.born_at(tensor) is None:
            self.recorder.tensor_born(tensor, here())
        if tensor._reason is not None and len(self.recorder.overridden) < 10000:
            self.recorder.overridden[id(tensor)] = WeakTensorRef(tensor), tensor._reason
            self.recorder.joined_again(tensor._reason)
            self.joined_lately.add(line_of(tensor._reason.where))
