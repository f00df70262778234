"""What a session is told while it watches: each event goes to the collectors it concerns."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from clew.core.no_history import NoHistory
from clew.doctor.facts import backward_passes
from clew.doctor.facts.engine import Engine
from clew.doctor.facts.numerics import FIRST_STEPS
from clew.doctor.facts.places import Line, constructed_at, here, line_of
from clew.doctor.facts.records import Spread
from clew.doctor.observe.op_events import OperationEvents, event
from clew.doctor.report.graph_view import saved_bytes, snapshot
from clew.observed import Tensor

_LARGEST_PICTURE = 4000


class Events(OperationEvents):
    """What backward passes, optimizers, modules, data and scalers tell the collectors."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self.spreads: dict[int, Spread] = {}
        self.loss_lines: Counter[Line | None] = Counter()
        # What was found when a pass began, until it ends.
        self.begun: dict[int, Any] = {}

    # -- backward --------------------------------------------------------------------------------

    @event
    def backward_begins(self, run: Any, roots: Any, outputs: Any) -> None:
        tensors = tuple(outputs)
        self.look_at_settings()
        self.numbers.pass_at = here()
        if not self.recorder.optimizers:
            self.numbers.compare_weights(by_hand=True)
        if run.accumulate:
            self._stairs_used(run)
            self.flow.begins(run)
            self.partial.backward_begins(run, roots)
            self.losses.targets.backward_begins(run, roots)
            self.repeats.went_backward()
            if tensors:
                self.numbers.loss_seen(tensors[0])
            self.losses.backward_begins(run, roots)
            self.precision.backward_begins(run, tensors)
            self.modes.backward_begins(run)
            self.data.went_backward(self.modes.trained)
            self.terms.backward_begins(run, roots, self.data.batches)
            self.schedules.backward_begins(roots)
            self.numbers.mark_outputs(roots)
            if self.numbers.sampling:
                self._measure(run, roots)
        elif any(self._is_trained(node) for node in run.targets or ()):
            self.losses.backward_begins(run, roots)
        self.begun[id(run)] = backward_passes.backward_begins(self.recorder, run, roots, tensors)

    def _stairs_used(self, run: Any) -> None:
        """Which operations without a slope lie between the loss and its parameters."""
        for reference in self.stairs:
            node = reference()
            if node is not None and node in run.nodes:
                cut = self.recorder.cuts.get(line_of(node._where))
                if cut is not None:
                    cut.used = True
        self.stairs.clear()

    def _is_trained(self, node: Any) -> bool:
        """Whether a gradient that `autograd.grad` is asked for is that of a parameter."""
        tensor = node._variable() if node.is_accumulator else None
        known = None if tensor is None else self.recorder.find(tensor)
        return known is not None and bool(known.optimizers)

    def _measure(self, run: Any, roots: Any) -> None:
        """What the graph holds, and once, what it looks like."""
        self.loss_lines[line_of(roots[0][0]._where) if roots else None] += 1
        owned: set[int] = set()
        held = sum(saved_bytes(node, owned) for node in run.nodes)
        self.held.add(self.recorder.steps, held)
        if self.picture is None and len(run.nodes) <= _LARGEST_PICTURE:
            names = {
                id(tensor): known.name
                for known in self.recorder.params.values()
                if known.name and (tensor := known.ref()) is not None
            }
            cuts = {node._seq: [reason] for node, reason in self.recorder.joins.items()}
            self.picture = snapshot([node for node, _ in roots], names, cuts)

    @event
    def backward_ends(self, run: Any, completed: bool) -> None:
        begun = self.begun.pop(id(run), None)
        if begun is None or not completed:
            return
        backward_passes.backward_ends(self.recorder, run, begun)
        self.flow.ends(self.picture)
        self.numbers.backward_done(begun[2], run.accumulate)
        if not self.recorder.optimizers and (run.accumulate or run.targets):
            self._await_updates(run, begun[2])
        self.precision.backward_ends(run, begun[2])
        self.keeping.backward_ends(run, begun)

    def _await_updates(self, run: Any, leaves: Any) -> None:
        """No optimizer is there: the program will change its parameters itself."""
        members = [
            (known, tensor)
            for known, tensor, node in leaves
            if (run.accumulate or node in run.targets) and not tensor._is_lifted
        ]
        self.data.first_step(members)
        if self.numbers.sampling:
            self.data.look_at_rows(members)
        self.numbers.choose(self.recorder.backwards)
        self.numbers.keep_weights(members)
        self.numbers.keep_slope(members)

    # -- optimizers ------------------------------------------------------------------------------

    @event
    def optimizer_made(self, optimizer: Any) -> None:
        self.look_at_settings()
        self.recorder.optimizer_made(optimizer, constructed_at(optimizer))

    @event
    def zero_grad(self, owner: Any) -> None:
        stack = self.recorder.clearing_stack()
        if isinstance(owner, self.engine.Module):
            self.recorder.grads_cleared(owner.parameters(), stack)
            return
        params = [p for group in owner.param_groups for p in group["params"]]
        self.recorder.grads_cleared(params, stack)
        from_line = self.recorder.optimizer_facts(owner).zero_at
        from_line[line_of(stack[0]) if stack else None] += 1

    @event
    def step_begins(self, optimizer: Any, has_closure: bool) -> None:
        facts = self.recorder.step_begins(optimizer, has_closure)
        members = self.recorder.members(facts)
        if not has_closure and all(tensor._grad is None for _, tensor in members):
            facts.starved_by.update(self.joined_lately)
        self.joined_lately.clear()
        self.modes.step_begins(facts)
        self.precision.step_begins(members)
        if not facts.steps:
            self.data.first_step(members)
        if has_closure and facts.kind != "LBFGS":  # which moves many times within a step
            self.numbers.keep_weights(members)
        else:
            self.numbers.step_begins([] if has_closure else members)

    @event
    def step_ends(self, optimizer: Any) -> None:
        if self.numbers.sampling and self.recorder.stepping is not None:
            self.data.look_at_rows(self.recorder.members(self.recorder.stepping))
        self.recorder.step_ends(optimizer)
        self.numbers.step_ends()
        self.numbers.is_looking = (
            not self.numbers.every or self.recorder.steps < FIRST_STEPS or self.numbers.sampling
        )
        self.keeping.step_ends()
        self.copies.step_ends()

    @event
    def step_passed(self, optimizer: Any) -> None:
        self.recorder.step_taken(self.recorder.optimizer_facts(optimizer), optimizer)

    @event
    def watch_resumes(self) -> None:
        self.recorder.watch_resumes()

    @event
    def scheduler_made(self, scheduler: Any) -> None:
        self.schedules.made(scheduler)

    @event
    def scheduler_steps(self, scheduler: Any, metrics: Any = None) -> None:
        self.schedules.stepped(scheduler, metrics)

    @event
    def clipping(self, tensors: Any) -> None:
        self.schedules.clipping(tensors)

    # -- modules ---------------------------------------------------------------------------------

    @event
    def module_made(self, module: Any) -> None:
        self.recorder.module_born(module, constructed_at(module))

    @event
    def module_requires_grad_set(self, module: Any) -> None:
        self.recorder.module_flagged(module, line_of(here()))

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
        if not self.local.state.backward_runs:
            self.recorder.tensor_born(tensor, here())

    @event
    def dataset_made(self, dataset: Any) -> None:
        self.data.dataset_made(dataset)
        self.repeats.dataset_made(dataset)

    @event
    def loader_begins(self, loader: Any, iterator: Any) -> None:
        self.repeats.loader_begins(loader, iterator)

    @event
    def batch_loaded(self, iterator: Any, batch: Any) -> None:
        self.repeats.loader_gave(iterator, batch)
        self.data.loader_gave(iterator, batch)

    @event
    def checkpoint_saved(self, block: Any, tensor: Tensor) -> None:
        self.repeats.checkpoint_saved(block, tensor)

    @event
    def checkpoint_recomputed(self, block: Any, index: int, tensor: Tensor) -> None:
        self.repeats.checkpoint_recomputed(block, index, tensor)

    @event
    def similarity_computed(self, x1: Tensor, x2: Tensor, output: Tensor) -> None:
        self.losses.similarity(x1, x2, output)

    @event
    def divergence_computed(self, input: Tensor, target: Tensor) -> None:
        self.losses.kl_div(input, target)

    def module_entered(self, module: Any, args: Any) -> None:
        calls = self.calls
        calls.stack.append(module)
        if len(calls.stack) == 1:
            calls.root = None
        self._module_entered(calls, module, args)

    @event
    def _module_entered(self, calls: Any, module: Any, args: Any) -> None:
        if "_modules" not in module.__dict__:
            return  # `Module.__init__` has not run: an error follows
        facts = self.recorder.modules.get(id(module))
        if facts is not None:
            facts.calls += 1
            if facts.calls < 4 and module.__dict__.get("batch_first") is False:
                self.modes.sequence_layer(module, args)
        if len(calls.stack) > 1 or type(module).__hash__ is None:
            return  # of a class that is a `dict` besides, nobody can list the parameters
        self.copies.followers.model_used(module)
        if facts is None or facts.ref() is not module:
            # A copy: it was made without a call of its constructor.
            self.recorder.module_born(module, None)
            facts = self.recorder.modules[id(module)]
        if args and isinstance(args[0], Tensor) and args[0]._array.ndim:
            self.modes.batch = args[0]._array.shape[0]
            self.modes.input_given(args[0])
            self.losses.mixing.model_called(args[0], self._are_samples(args[0]))
            self.repeats.model_called(args[0], module.training and self.local.state.grad_enabled)
        for value in args:
            if isinstance(value, Tensor) and value._requires_grad and value._node is not None:
                known = self.recorder.find(value)
                if known is not None:
                    known.used_as_input = True
        if facts is not None and not facts.named:
            facts.named = True
            self.recorder.name_parameters(module)
        calls.root = self.modes.root_called(module, args)
        self.recorder.called_at = calls.root.line

    def _are_samples(self, tensor: Tensor) -> bool:
        """Whether a loader has put the rows of a batch together, or a list of indices has."""
        given = self.data.given
        return self.repeats.is_picked(tensor) or (given is not None and given[0]() is tensor)

    def module_left(self, module: Any, output: Any) -> None:
        calls = self.calls
        if not calls.stack:
            return  # the watch began inside of this call
        calls.stack.pop()
        if not calls.stack:
            entered, calls.root = calls.root, None
            if entered is not None and output is not None:
                self._root_left(module, entered, output)

    @event
    def _root_left(self, module: Any, entered: Any, result: Any) -> None:
        self.modes.root_left(module, entered, result)
        self.losses.mixing.model_left(result)
        if self.losses.targets.is_open and entered.args:
            self.losses.targets.model_called(entered.args[0], result)
        self.data.root_called(module, entered, result)
        entered.args = ()  # a call that waits for its backward must not keep its inputs alive
        self.keeping.output_made(result)
        if entered.grad and entered.training and self.numbers.sampling:
            self._spread(module, result)

    def _spread(self, module: Any, result: Any) -> None:
        """How alike the outputs of a model are for the rows of a batch."""
        array = result._array if isinstance(result, Tensor) else None
        if array is None or array.ndim != 2 or array.dtype.kind != "f":
            return
        if array.shape[0] < 8 or array.shape[1] < 4:
            return
        facts = self.recorder.module_facts(module)
        if facts is None:
            return
        spread = self.spreads.get(facts.number)
        if spread is None:
            spread = self.spreads[facts.number] = Spread(facts.kind, facts.born)
        wide = array.astype(np.float64)
        lengths = np.sqrt((wide * wide).sum(axis=1, keepdims=True))
        if (lengths > 0).all():
            mean = (wide / lengths).mean(axis=0)
            spread.alike.add(self.recorder.steps, float(np.dot(mean, mean)))

    @event
    def module_mode_set(self, module: Any, training: bool) -> None:
        if not any(each is module for each in self.stack):
            self.modes.mode_set(module, training)

    # -- mixed precision, states -----------------------------------------------------------------

    @event
    def loss_scaled(self, scaler: Any) -> None:
        self.precision.scaled(scaler)
        self.numbers.expects_overflow = bool(scaler.is_enabled())
        if scaler.is_enabled():
            self.recorder.loss_scale = float(scaler.get_scale())

    @event
    def unscale_begins(self, scaler: Any, optimizer: Any) -> None:
        self.precision.unscaled(scaler, optimizer)
        self.schedules.by_scaler = True

    @event
    def unscale_ends(self, scaler: Any, optimizer: Any) -> None:
        self.schedules.by_scaler = False

    @event
    def scaler_steps(self, scaler: Any, optimizer: Any) -> None:
        self.precision.scaler_steps(scaler, optimizer)
        self.recorder.optimizer_facts(optimizer).attempts += 1

    @event
    def compiled_function_called(self, name: str) -> None:
        self.recorder.compiled.setdefault(name)

    @event
    def autocast_entered(self, region: Any) -> None:
        self.precision.autocast_entered(region)

    @event
    def state_dict_taken(self, module: Any, state: Any) -> None:
        self.copies.state_taken(module, state)

    @event
    def state_dict_loaded(self, module: Any, state: Any) -> None:
        self.copies.state_loaded(module, state)
