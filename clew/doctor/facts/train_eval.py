"""Training and evaluation: in which mode models ran, and what for."""

from __future__ import annotations

import re
import weakref
from collections import Counter
from typing import Any

from clew.doctor.facts.engine import Engine
from clew.doctor.facts.places import Line, Place, here, line_of
from clew.doctor.facts.recorder import Recorder
from clew.doctor.facts.records import OptimizerFacts
from clew.observed import Node, Tensor, WeakTensorRef

# Operations that turn an output into a figure: with one of these, a forward is an evaluation.
METRICS = frozenset(
    {
        "argmax", "eq", "max_dim", "nll_loss", "mse_loss", "binary_cross_entropy", "sub", "gt",
        "binary_cross_entropy_with_logits", "topk", "smooth_l1_loss", "huber_loss", "ge",
    }
)  # fmt: skip
# What draws numbers: a model that gets nothing else makes samples.
_DRAWS = re.compile(r"\b(randn?|normal_?|uniform_|sample)\(")
# Dropout that is meant to be active at any time, as for samples of a prediction.
_ALWAYS = re.compile(r"training\s*=\s*True\b")


class RootCall:
    """A call of a model by the user."""

    def __init__(self, module: Any, line: Line | None, args: Any, grad: bool) -> None:
        self.key = id(module)
        self.line = line
        self.training = module.training
        self.grad = grad
        self.args = args
        self.sensitive: tuple[str, ...] = ()
        self.active = False  # whether a sensitive layer is in training mode
        self.node: weakref.ref[Node] | None = None
        self.clock = 0
        self.rows: tuple[Any, set[int]] | None = None  # what it was given, row by row
        self.weights: Any = None  # changes when a weight of the model does


class ModeFacts:
    """A model, by the modes in which it ran."""

    def __init__(self, module: Any, engine: Engine) -> None:
        self.ref = weakref.ref(module)
        self.kind = type(module).__name__
        sensitive = [m for m in module.modules() if is_sensitive(m, engine)]
        self.sensitive = [weakref.ref(m) for m in sensitive]
        self.layers = sorted({type(m).__name__ for m in sensitive})
        self.train_steps = 0
        self.trained_when = -1  # how many steps all optimizers had taken, with the last of these
        self.eval_steps = 0
        self.evaluated = 0
        self.eval_set_at: Line | None = None
        self.eval_set_when = -1
        self.train_set_when = -1
        self.ever_eval = False
        self.eval_step_lines: Counter[Line | None] = Counter()
        self.eval_under: Counter[Line | None] = Counter()  # the eval() in force at those steps
        self.eval_calls = 0
        # Models with optimizers that got what this one had made, and whether one of them shares no
        # optimizer with it.
        self.given_to: weakref.WeakSet[Any] = weakref.WeakSet()
        self.is_judged = False


class EvalSite:
    """A line that evaluates a model while its layers are in training mode."""

    def __init__(self, line: Line | None, layers: list[str], key: int) -> None:
        self.line = line
        self.layers = layers
        self.key = key
        self.count = 0
        self.metrics = 0
        self.deliberate = 0
        self.drawn = 0  # calls with numbers that were drawn
        # Calls since which only optimizers of other models have stepped, and when that began.
        self.idle = 0
        self.idle_since = -1


def is_sensitive(module: Any, engine: Engine) -> bool:
    """Whether a layer does another thing in training than in evaluation."""
    if isinstance(module, engine.BatchNorm):
        return bool(module.track_running_stats)
    return isinstance(module, engine.Dropout) and module.p > 0


class SequenceFacts:
    """A recurrent or attention layer that expects time first."""

    def __init__(self, born: Place | None, line: Line | None, shape: tuple[int, ...]) -> None:
        self.born = born
        self.line = line
        self.shape = shape
        self.count = 0


def _with_history(result: Any, engine: Engine, depth: int = 3) -> Tensor | None:
    """The first tensor of a model's result that can be trained; the result may be an object."""
    if isinstance(result, Tensor):
        return result if result._node is not None else None
    if isinstance(result, tuple | list):
        parts = list(result)[:16]
    elif isinstance(result, dict):
        parts = list(result.values())[:16]
    else:
        parts = list(getattr(result, "__dict__", {}).values())[:16]
    for part in parts if depth else ():
        seen = engine.tensor(part)
        found = _with_history(part if seen is None else seen, engine, depth - 1)
        if found is not None:
            return found
    return None


class ModeWatch:
    """Sees calls of models, `train()` and `eval()`."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.models: dict[int, ModeFacts] = {}
        self.sites: dict[Line | None, EvalSite] = {}
        self.waiting: list[RootCall] = []
        self.trained: list[RootCall] = []
        self.now: EvalSite | None = None
        self.dropout_in_eval: Counter[Line | None] = Counter()
        self.sequences: dict[str, SequenceFacts] = {}
        self.batch: int | None = None
        self.fresh_inputs = 0  # calls of models with another tensor than the last one
        self.last_input: weakref.ref[Tensor] | None = None

    def facts(self, module: Any) -> ModeFacts:
        known = self.models.get(id(module))
        if known is None or known.ref() is not module:
            known = self.models[id(module)] = ModeFacts(module, self.recorder.engine)
        return known

    def input_given(self, tensor: Tensor) -> None:
        if self.fresh_inputs < 8:
            if self.last_input is None or self.last_input() is not tensor:
                self.fresh_inputs += 1
            self.last_input = WeakTensorRef(tensor)

    def root_called(self, module: Any, args: Any) -> RootCall:
        call = RootCall(module, line_of(here()), args, self.recorder.local.state.grad_enabled)
        call.clock = self.recorder.clock
        self.now = None
        facts = self.facts(module)
        if call.grad and args and isinstance(args[0], Tensor) and args[0]._node is not None:
            self._passed_on(module, args[0]._node)
        if facts.sensitive:
            layers = [layer for each in facts.sensitive if (layer := each()) is not None]
            call.active = any(layer.training for layer in layers)
            if not call.grad:
                if call.active and call.training:
                    self._evaluates_in_training(call, facts)
                elif not call.training:
                    facts.evaluated += 1
        return call

    def _passed_on(self, module: Any, node: Node) -> None:
        """A model gets what another one has made."""
        for call in self.waiting:
            maker = self.models.get(call.key)
            if call.node is None or call.node() is not node or maker is None:
                continue
            made_by = maker.ref()
            if made_by is None or module in maker.given_to:
                continue
            judging = self._optimizers_of(module)
            if judging:
                maker.given_to.add(module)
                maker.is_judged |= judging.isdisjoint(self._optimizers_of(made_by))

    def _optimizers_of(self, module: Any) -> set[int]:
        """The numbers of the optimizers that have a parameter of a model."""
        known = [self.recorder.find(each) for each in module.parameters()]
        return {number for each in known if each is not None for number in each.optimizers}

    def _evaluates_in_training(self, call: RootCall, facts: ModeFacts) -> None:
        site = self.sites.get(call.line)
        if site is None:
            site = self.sites[call.line] = EvalSite(call.line, facts.layers, call.key)
        site.count += 1
        if call.args and isinstance(call.args[0], Tensor):
            born = self.recorder.born_at(call.args[0])
            site.drawn += born is not None and _DRAWS.search(born.text) is not None
        # `train()` called after `eval()`, with no step since: dropout is wanted (Monte Carlo).
        last_step = max((o.last_step for o in self.recorder.optimizers.values()), default=-1)
        if facts.train_set_when > facts.eval_set_when >= 0 and facts.train_set_when > last_step:
            site.deliberate += 1
        elif facts.train_steps and self.recorder.steps > facts.trained_when:
            site.idle += 1
            site.idle_since = facts.trained_when if site.idle_since < 0 else site.idle_since
        self.now = site

    def root_left(self, module: Any, call: RootCall, result: Any) -> None:
        first = _with_history(result, self.recorder.engine) if call.grad else None
        if first is not None:
            call.node = weakref.ref(first._node)
            self.waiting.append(call)
            if len(self.waiting) > 64:
                del self.waiting[:32]

    def op_without_grad(self, name: str) -> None:
        if self.now is not None and name in METRICS:
            self.now.metrics += 1
            self.now = None

    def sequence_layer(self, module: Any, args: Any) -> None:
        """A layer with a time axis is called: which of its two first axes is time?"""
        first = args[0] if args else None
        if not isinstance(first, Tensor) or first._array.ndim != 3 or not first._array.size:
            return
        name = type(module).__name__
        facts = self.sequences.get(name)
        if facts is None:
            known = self.recorder.module_facts(module)
            born = None if known is None else known.born
            shape = tuple(first._array.shape)
            facts = self.sequences[name] = SequenceFacts(born, line_of(here()), shape)
        facts.count += 1

    def dropout_ran(self, stack: list[Any]) -> None:
        """Dropout is active although the module that runs is in evaluation mode."""
        module = stack[-1]
        if not module.training and not isinstance(module, self.recorder.engine.Dropout):
            line = line_of(here())
            if line is None or not _ALWAYS.search(line.text):
                self.dropout_in_eval[line] += 1

    def backward_begins(self, run: Any) -> None:
        rest = []
        attacks = not all(call.training for call in self.waiting) and any(
            node.is_accumulator
            and (tensor := node._variable()) is not None
            and not self.recorder.engine.is_parameter(tensor)
            and ((known := self.recorder.find(tensor)) is None or not known.optimizers)
            for node in run.nodes
        )
        for call in self.waiting:
            node = call.node() if call.node is not None else None
            if node is not None and node in run.nodes:
                if attacks and not call.training:
                    continue  # the gradient of an input is wanted, of a model as it will be used
                self.trained.append(call)
                if len(self.trained) > 64:
                    del self.trained[:32]
            elif node is not None:
                rest.append(call)
        self.waiting = rest[-64:]

    def step_begins(self, facts: OptimizerFacts) -> None:
        for call in self.trained:
            model = self.models.get(call.key)
            if model is None or not model.sensitive:
                continue
            module = model.ref()
            if module is None:
                continue
            flagged = call.training and model.eval_set_when > model.train_set_when
            if call.active or (call.training and not flagged):
                model.train_steps += 1
                model.trained_when = self.recorder.steps + 1
            elif self._is_trained_by(module, facts):
                model.eval_steps += 1
                model.eval_step_lines[call.line] += 1
                model.eval_under[model.eval_set_at] += 1
        self.trained.clear()

    def _is_trained_by(self, module: Any, facts: OptimizerFacts) -> bool:
        """Whether the optimizer moves parameters of a layer whose mode matters, or near it."""
        numbers = set(facts.params)
        for param in module.parameters():
            known = self.recorder.find(self.recorder.engine.tensor(param))
            if known is not None and known.number in numbers and known.reached:
                return True
        return False

    def mode_set(self, module: Any, mode: bool) -> None:
        now = self.recorder.tick()
        line = line_of(here())
        for each in (module, *module.modules()):
            known = self.models.get(id(each))
            if known is None or known.ref() is not each:
                if each is not module:
                    continue
                known = self.facts(module)
            if mode:
                known.train_set_when = now
            else:
                known.eval_set_when = now
                known.eval_set_at = line
                known.ever_eval = True
                known.eval_calls += 1
