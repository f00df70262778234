"""The recorder: receives the events of a run and keeps what rules will ask about."""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from clew.doctor.facts.engine import Engine
from clew.doctor.facts.graphs import leaves_behind
from clew.doctor.facts.places import Line, Place, here, line_of, stack_here
from clew.doctor.facts.records import (
    BackwardSite,
    Cut,
    ModuleFacts,
    OptimizerFacts,
    ParamFacts,
    Series,
    number_mark,
)
from clew.observed import Node, Tensor, WeakTensorRef, elements

if TYPE_CHECKING:
    from clew.core.no_history import NoHistory


class Recorder:
    """Everything that was seen of a run."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.local = engine.local
        self.params: dict[int, ParamFacts] = {}
        self.by_id: dict[int, ParamFacts] = {}
        self.next_number = 0
        self.modules_made = 0
        self.optimizers_made = 0
        self.prune_at = 512
        self.optimizers: dict[int, OptimizerFacts] = {}
        self.modules: dict[int, ModuleFacts] = {}
        self.made: dict[tuple[int, str], Place | None] = {}  # by the model and the path in it
        self.sites: dict[Any, BackwardSite] = {}
        self.steps = 0
        self.taken = 0  # with those that were not looked at
        self.backwards = 0
        self.accumulations = 0  # those of them that add to .grad
        self.clock = 0
        self.stepping: OptimizerFacts | None = None
        self.step_began = -1
        self.in_closure = False  # what runs during a step is the program's
        # Lines that cut history: reason, how often, and which leaves lay behind.
        self.cuts: dict[Line | None, Cut] = {}
        # The line that called a model last; and of passes for the gradients of parameters that
        # were not used, though others like them were, the lines that used those.
        self.called_at: Line | None = None
        self.missed: Counter[Line | None] = Counter()
        self.births: dict[int, tuple[weakref.ref[Tensor], Place | None]] = {}
        self.given: dict[int, tuple[weakref.ref[Tensor], Place | None]] = {}
        self.joined: Counter[Line | None] = Counter()
        # For the picture of the graph: what was cut off from the nodes of the first iteration.
        self.joins: weakref.WeakKeyDictionary[Node, str] = weakref.WeakKeyDictionary()
        self.kept: list[tuple[weakref.ref[Node], BackwardSite, int]] = []
        # Recent backward passes: their site, how many leaves they reached, how many were cleared.
        self.passes: dict[int, list[Any]] = {}
        # The lines that cleared gradients last, and those that did before the last backward pass.
        self.cleared_last: tuple[Place, ...] = ()
        self.cleared_first: tuple[Place, ...] = ()
        self.clearing: dict[Line | None, set[Line | None]] = {}  # lines that clear: their callers
        self.input_passes: set[Any] = set()  # by the lines that led to them
        self.loss = Series()
        self.loss_scale = 1.0
        self.last_loss: float | None = None
        # Backward passes from a leaf: its line, the line that cut it off, how often.
        # The names of compiled functions that ran, as keys.
        self.compiled: dict[str, None] = {}
        self.lonely: Counter[tuple[Line | None, Line | None]] = Counter()
        self.flagged: dict[Line | None, set[int]] = {}
        self.overridden: dict[int, tuple[weakref.ref[Tensor], NoHistory | None]] = {}

    def tick(self) -> int:
        self.clock += 1
        return self.clock

    # -- tensors and modules ---------------------------------------------------------------

    def facts(self, tensor: Tensor) -> ParamFacts:
        """What is known of a leaf, from now on."""
        known = self.by_id.get(id(tensor))
        if known is not None and known.ref() is tensor:
            return known
        if len(self.by_id) >= self.prune_at:
            self._forget_passing_leaves()
        made = ParamFacts(tensor, self.next_number)
        self.next_number += 1
        made.is_parameter = self.engine.is_parameter(tensor)
        born = self.births.get(id(tensor))
        if born is not None and born[0]() is tensor:
            made.born = born[1]
        made.value_mark = number_mark(tensor)
        self.params[made.number] = made
        self.by_id[id(tensor)] = made
        return made

    def _forget_passing_leaves(self) -> None:
        """Drop what is known of leaves that lived for an iteration, such as perturbed inputs."""
        for key, known in list(self.by_id.items()):
            if known.ref() is None and not known.is_parameter and not known.optimizers:
                del self.by_id[key]
                self.params.pop(known.number, None)
        self.prune_at = len(self.by_id) + 512

    def find(self, tensor: Any) -> ParamFacts | None:
        known = self.by_id.get(id(tensor))
        return known if known is not None and known.ref() is tensor else None

    def tensor_born(self, tensor: Tensor, place: Place | None) -> None:
        if len(self.births) > 20000:
            self.births = {k: v for k, v in self.births.items() if v[0]() is not None}
        self.births[id(tensor)] = WeakTensorRef(tensor), place

    def data_given(self, tensor: Tensor, place: Place | None) -> None:
        """`tensor.data = value`."""
        if len(self.given) < 20000:
            self.given[id(tensor)] = WeakTensorRef(tensor), place

    def given_at(self, tensor: Tensor) -> Place | None:
        entry = self.given.get(id(tensor))
        return entry[1] if entry is not None and entry[0]() is tensor else None

    def born_at(self, tensor: Tensor) -> Line | None:
        entry = self.births.get(id(tensor))
        return line_of(entry[1]) if entry is not None and entry[0]() is tensor else None

    def module_born(self, module: Any, place: Place | None) -> None:
        self.modules_made += 1  # (the identity of one that is gone may be given to another one)
        self.modules[id(module)] = ModuleFacts(module, self.modules_made, place)

    def module_facts(self, module: Any) -> ModuleFacts | None:
        facts = self.modules.get(id(module))
        return facts if facts is not None and facts.ref() is module else None

    def module_flagged(self, module: Any, line: Line | None) -> None:
        """`module.requires_grad = True`, which makes an attribute and changes no parameter."""
        numbers = self.flagged.setdefault(line, set())
        for param in module.parameters():
            known = self._facts_of_parameter(param)
            if known is not None:
                numbers.add(known.number)

    def name_parameters(self, root: Any) -> None:
        """Learn the names of a model's parameters, and the layers that hold them."""
        facts = self.module_facts(root)
        number = 0 if facts is None else facts.number + 1
        for path, module in root.named_modules():
            owner = self.module_facts(module)
            if owner is not None and len(self.made) < 20000:
                self.made[number, path] = owner.born
            for name, param in module._parameters.items():
                known = self._facts_of_parameter(param)
                if known is None:
                    continue
                if not known.name or len(path) + len(name) + 1 > len(known.name):
                    known.name = f"{path}.{name}" if path else name
                    known.root = number
                if owner is not None:
                    known.owner_kind = owner.kind
                    inside = self.engine.is_layer(module)
                    known.owner_born = owner.born if inside else known.born
            for name, held in module.__dict__.items():
                value = self.engine.tensor(held)
                if value is None or not value._requires_grad:
                    continue
                if value._node is None or value._node.is_accumulator:
                    known = self.facts(value)
                    known.is_attribute = True
                    known.name = known.name or (f"{path}.{name}" if path else name)

    def _facts_of_parameter(self, param: Any) -> ParamFacts | None:
        tensor = self.engine.tensor(param)
        # A lazy layer's parameter has no array yet.
        return None if tensor is None or self.engine.is_lazy(tensor) else self.facts(tensor)

    # -- optimizers ------------------------------------------------------------------------

    def optimizer_made(self, optimizer: Any, place: Place | None) -> None:
        made = self._new_optimizer(optimizer, place)
        self.take_params(made, optimizer)

    def _new_optimizer(self, optimizer: Any, place: Place | None) -> OptimizerFacts:
        made = OptimizerFacts(optimizer, self.optimizers_made, place)
        self.optimizers_made += 1
        before = self.optimizers.get(id(optimizer))
        if before is not None:
            # What was learnt of an optimizer that is gone stays, under a key of its own.
            self.optimizers[-1 - before.number] = before
        self.optimizers[id(optimizer)] = made
        return made

    def optimizer_facts(self, optimizer: Any) -> OptimizerFacts:
        known = self.optimizers.get(id(optimizer))
        if known is None or known.ref() is not optimizer:
            known = self._new_optimizer(optimizer, None)
            self.take_params(known, optimizer)
        return known

    def take_params(self, facts: OptimizerFacts, optimizer: Any) -> None:
        facts.groups = []
        for group in optimizer.param_groups:
            numbers = []
            for param in group["params"]:
                known = self._facts_of_parameter(param)
                if known is not None:
                    known.optimizers.add(facts.number)
                    numbers.append(known.number)
            facts.groups.append(numbers)
        facts.params = [number for numbers in facts.groups for number in numbers]
        group = optimizer.param_groups[0] if optimizer.param_groups else {}
        rate = group.get("lr")
        if facts.first_rate is None and isinstance(rate, int | float):
            facts.first_rate = float(rate)

    def members(self, facts: OptimizerFacts) -> list[tuple[ParamFacts, Tensor]]:
        pairs = []
        for number in facts.params:
            known = self.params[number]
            tensor = known.ref()
            if tensor is not None:
                pairs.append((known, tensor))
        return pairs

    def step_begins(self, optimizer: Any, has_closure: bool) -> OptimizerFacts:
        facts = self.optimizer_facts(optimizer)
        count = sum(len(group["params"]) for group in optimizer.param_groups)
        if count != len(facts.params):
            self.take_params(facts, optimizer)
        facts.uses_closure |= has_closure
        self.stepping = facts
        self.step_began = self.tick()
        self.in_closure = has_closure
        if not has_closure:
            self._look_at_gradients(facts)
        return facts

    def _look_at_gradients(self, facts: OptimizerFacts) -> None:
        """Before a step: which gradients are there, and which were cleared since backward."""
        has = cleared = once = 0
        cleared_by: Counter[Any] = Counter()
        summed: Counter[Any] = Counter()
        divided = False
        for known, tensor in self.members(facts):
            grad = tensor._grad
            known.see(tensor)
            if facts.steps and known.value_mark != number_mark(tensor):
                known.manual += 1
            fresh = known.last_reached > facts.last_step
            if grad is not None and (
                known.grad_mark == number_mark(grad) or not self.is_cleared_in_place(known, grad)
            ):
                has += 1
                known.steps += 1
                if known.stale or self._holds_attack(known) or self._is_left_over(known, facts):
                    known.stale_steps += 1
                    stack = known.pending[-1][0] if known.pending else ()
                    known.stale_at[line_of(stack[0]) if stack else None] += 1
                elif len(known.pending) == 1:
                    once += 1
                elif known.pending:
                    counts = Counter((stack, factor) for stack, factor, _ in known.pending)
                    key, times = counts.most_common(1)[0]
                    summed[key, times] += 1
                    divided |= known.scaled_when >= 0
            elif fresh and known.cleared_when > known.last_reached:
                cleared += 1
                cleared_by[known.cleared_by] += 1
        if facts.steps == 0 and not has:
            facts.first_was_early = all(k.reached == 0 for k, _ in self.members(facts))
        if cleared and not has:
            facts.cleared_steps += 1
            facts.cleared_by[cleared_by.most_common(1)[0][0]] += 1
        if once and not summed:
            facts.summed[1] += 1
        elif summed:
            ((site, factor), times), _ = summed.most_common(1)[0]
            facts.summed[times] += 1
            if not divided and times > 1 and not _is_divided(factor, times):
                facts.undivided[times] += 1
                facts.summed_at[line_of(site[0]) if site else None] += 1

    def _holds_attack(self, known: ParamFacts) -> bool:
        """Whether a pass for the gradient of an input (an attack) has left its traces here."""
        stacks = {stack for stack, _, _ in known.pending} if self.input_passes else set()
        return bool(stacks & self.input_passes) and bool(stacks - self.input_passes)

    def _is_left_over(self, known: ParamFacts, facts: OptimizerFacts) -> bool:
        """Whether a gradient holds a part that was computed for another optimizer's last step."""
        if len(known.pending) < 2:
            return False
        oldest, newest = known.pending[0], known.pending[-1]
        if oldest[0] == newest[0]:
            return False
        return any(
            oldest[2] < other.last_step < newest[2]
            for other in self.optimizers.values()
            if other is not facts
        )

    def is_cleared_in_place(self, known: ParamFacts, grad: Tensor) -> bool:
        """Whether a gradient holds only zeros because somebody wrote them."""
        if known.grad_mark == number_mark(grad):
            return False
        if elements(grad).any():
            return False
        written_at = grad._storage.written_at
        self.grad_cleared(known, () if written_at is None else (written_at,))
        return True

    def step_ends(self, optimizer: Any) -> None:
        facts = self.stepping
        self.stepping = None
        self.in_closure = False
        if facts is None:
            return
        facts.steps += 1
        self.steps += 1
        if facts.steps == 1:
            facts.keeps_state = any(map(bool, optimizer.state.values()))
        facts.last_step = self.tick()
        facts.last_count = self.steps
        facts.step_at[line_of(here())] += 1
        facts.seq = self.engine.next_number()
        self.step_taken(facts, optimizer)
        if self.last_loss is not None:
            facts.losses.add(facts.steps, self.last_loss)
        for known, tensor in self.members(facts):
            if tensor._grad is not None:
                known.consumed = True
            known.value_mark = number_mark(tensor)

    def step_taken(self, facts: OptimizerFacts, optimizer: Any) -> None:
        """A step of an optimizer, whether it is looked at or not."""
        facts.taken += 1
        self.taken += 1
        rate = optimizer.param_groups[0].get("lr") if optimizer.param_groups else None
        if isinstance(rate, int | float):
            facts.rates.add(facts.taken, float(rate))

    def watch_resumes(self) -> None:
        """What optimizers have written meanwhile was not written by the program."""
        for known in self.by_id.values():
            tensor = known.ref()
            if tensor is not None:
                known.value_mark = number_mark(tensor)

    # -- gradients -------------------------------------------------------------------------

    def clearing_line(self, stack: tuple[Place, ...]) -> Line | None:
        """The line that clears: where a helper is called from several lines, the one that calls."""
        if not stack:
            return None
        line = line_of(stack[0])
        several = len(stack) > 1 and len(self.clearing.get(line, ())) > 1
        return line_of(stack[1]) if several else line

    def grad_cleared(self, known: ParamFacts, stack: tuple[Place, ...]) -> None:
        """A gradient is cleared by the innermost of these lines."""
        # A closure that runs again clears what the step has used: by the same line as before.
        runs_again = self.in_closure and self.cleared_first == stack
        if known.pending and not known.consumed and not runs_again:
            self._note_wasted(known, stack)
        known.pending.clear()
        known.consumed = known.stale = False
        known.cleared_by = stack
        known.cleared_when = self.tick()
        known.scaled_when = -1

    def grad_used(self, known: ParamFacts) -> None:
        """The program reads a gradient itself: the passes behind it were not in vain."""
        if not known.is_parameter and not known.optimizers and len(self.input_passes) < 64:
            # What the pass was for is the gradient of an input.
            self.input_passes.update(stack for stack, _, _ in known.pending)
        for _, _, when in known.pending:
            self.passes.pop(when, None)

    def _note_wasted(self, known: ParamFacts, stack: tuple[Place, ...]) -> None:
        """Was everything that a backward pass computed cleared before any step?"""
        for _, _, when in known.pending:
            entry = self.passes.get(when)
            if entry is None:
                continue
            entry[2] += 1
            if entry[2] == entry[1]:
                entry[0].wasted += 1
                entry[0].wasted_by[stack] += 1
                entry[0].wasted_of |= known.optimizers
                del self.passes[when]

    def clearing_stack(self) -> tuple[Place, ...]:
        """The lines that clear gradients now, innermost first; who calls which is remembered."""
        stack = stack_here(2)
        if stack:
            callers = self.clearing.setdefault(line_of(stack[0]), set())
            callers.add(line_of(stack[1]) if len(stack) > 1 else None)
        self.cleared_last = stack
        return stack

    def grads_cleared(self, parameters: Iterable[Any], stack: tuple[Place, ...]) -> int:
        """`zero_grad` of an optimizer or a module: how many gradients it will clear."""
        count = 0
        for parameter in parameters:
            tensor = self.engine.tensor(parameter)
            if tensor is None or tensor._grad is None:
                continue
            known = self.find(tensor)
            if known is not None:
                count += 1
                self.grad_cleared(known, stack)
        return count

    # -- cuts ------------------------------------------------------------------------------

    def history_cut(self, reason: NoHistory, node: Node | None) -> None:
        """Somebody cut a history: at which line, and which leaves lie behind it."""
        line = line_of(reason.where)
        cut = self.cuts.get(line)
        if cut is None:
            cut = self.cuts[line] = Cut(reason, self.backwards)
        elif reason.kind == "stairs" and cut.kind == "no_grad" and not self.joined[line]:
            cut.kind, cut.op, cut.count = reason.kind, reason.op, 0  # a custom function's backward
        cut.count += 1
        if cut.count <= 3 and node is not None:
            self._note_leaves(cut, node)

    def leaf_left(self, tensor: Tensor, reason: NoHistory) -> None:
        """The values of a parameter leave for Python or NumPy: they come back as numbers."""
        line = line_of(reason.where)
        cut = self.cuts.get(line)
        if cut is None:
            cut = self.cuts[line] = Cut(reason, self.backwards)
        cut.count += 1
        cut.of_leaf = True
        if cut.count <= 3:
            cut.leaves.add(self.facts(tensor).number)

    def cut_as_well(self, reason: NoHistory, node: Node) -> None:
        """A further value that the same reason cuts off."""
        cut = self.cuts.get(line_of(reason.where))
        if cut is not None and cut.count <= 3:
            self._note_leaves(cut, node)

    def _note_leaves(self, cut: Cut, node: Node) -> None:
        for leaf in leaves_behind(node):
            tensor = leaf._variable()
            if tensor is not None:
                cut.leaves.add(self.facts(tensor).number)

    def joined_again(self, reason: NoHistory) -> None:
        """A tensor that was cut off becomes a leaf of its own."""
        self.joined[line_of(reason.where)] += 1

    def written_to_leaf(self, value: Any) -> None:
        """A leaf is given values that were computed from others: their history ends here."""
        if not isinstance(value, Tensor):
            return
        reason, node, mode = value._reason, value._node, self.local.state.no_grad_reason
        if node is not None and not node.is_accumulator and mode is not None:
            self.history_cut(mode, node)
            self.joined_again(mode)
        ancestor = None if reason is None else reason.ancestor
        if reason is not None and ancestor is not None and ancestor[0] != "AccumulateGrad":
            self.joined_again(reason)

    def history_joined(self, node: Node, reason: NoHistory) -> None:
        """A tensor that was cut off meets one that has a history."""
        line = line_of(reason.where)
        self.joined[line] += 1
        if len(self.joins) < 64 and not self.backwards:
            self.joins[node] = f"{reason.op} at {line}"
        left = line_of(getattr(reason, "left_at", None))
        if left is not None and left != line:
            self.joined[left] += 1

    def used_without_grad(self, tensor: Tensor, place: Place | None) -> None:
        known = self.find(tensor)
        if known is not None:
            known.used_without_grad[place] += 1


def _is_divided(factor: float | None, times: int) -> bool:
    """Whether a loss was multiplied by about 1/times, or by something smaller."""
    return factor is not None and factor <= 1.02 / times
