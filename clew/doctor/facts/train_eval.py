"""Training and evaluation: in which mode models ran, and what for."""

from __future__ import annotations

import weakref
from collections import Counter
from typing import Any

from clew.core.node import Node
from clew.core.state import local
from clew.core.tensor import Tensor, WeakTensorRef
from clew.doctor.facts.places import Line, Place, here, line_of
from clew.doctor.facts.recorder import Recorder
from clew.doctor.facts.records import OptimizerFacts
from clew.nn.modules.batchnorm import _BatchNorm
from clew.nn.modules.dropout import _DropoutNd
from clew.nn.modules.module import Module

# Operations that turn an output into a figure: with one of these, a forward is an evaluation.
METRICS = frozenset(
    {
        "argmax", "eq", "max_dim", "nll_loss", "mse_loss", "binary_cross_entropy", "sub", "gt",
        "binary_cross_entropy_with_logits", "topk", "smooth_l1_loss", "huber_loss", "ge",
    }
)  # fmt: skip


class RootCall:
    """A call of a model by the user."""

    def __init__(self, module: Module, line: Line | None, args: Any) -> None:
        self.key = id(module)
        self.line = line
        self.training = module.training
        self.grad = local.state.grad_enabled
        self.args = args
        self.sensitive: tuple[str, ...] = ()
        self.active = False  # whether a sensitive layer is in training mode
        self.node: weakref.ref[Node] | None = None
        self.clock = 0
        self.rows: tuple[Any, set[int]] | None = None  # what it was given, row by row


class ModeFacts:
    """A model, by the modes in which it ran."""

    def __init__(self, module: Module) -> None:
        self.ref = weakref.ref(module)
        self.kind = type(module).__name__
        sensitive = [m for m in module.modules() if is_sensitive(m)]
        self.sensitive = [weakref.ref(m) for m in sensitive]
        self.layers = sorted({type(m).__name__ for m in sensitive})
        self.train_steps = 0
        self.eval_steps = 0
        self.evaluated = 0
        self.eval_set_at: Line | None = None
        self.eval_set_when = -1
        self.train_set_when = -1
        self.ever_eval = False
        self.eval_step_lines: Counter[Line | None] = Counter()


class EvalSite:
    """A line that evaluates a model while its layers are in training mode."""

    def __init__(self, line: Line | None, layers: list[str], key: int) -> None:
        self.line = line
        self.layers = layers
        self.key = key
        self.count = 0
        self.metrics = 0
        self.deliberate = 0


def is_sensitive(module: Module) -> bool:
    """Whether a layer does another thing in training than in evaluation."""
    if isinstance(module, _BatchNorm):
        return bool(module.track_running_stats)
    return isinstance(module, _DropoutNd) and module.p > 0


class SequenceFacts:
    """A recurrent or attention layer that expects time first."""

    def __init__(self, born: Place | None, line: Line | None, shape: tuple[int, ...]) -> None:
        self.born = born
        self.line = line
        self.shape = shape
        self.count = 0


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

    def facts(self, module: Module) -> ModeFacts:
        known = self.models.get(id(module))
        if known is None or known.ref() is not module:
            known = self.models[id(module)] = ModeFacts(module)
        return known

    def input_given(self, tensor: Tensor) -> None:
        if self.fresh_inputs < 8:
            if self.last_input is None or self.last_input() is not tensor:
                self.fresh_inputs += 1
            self.last_input = WeakTensorRef(tensor)

    def root_called(self, module: Module, args: Any) -> RootCall:
        call = RootCall(module, line_of(here()), args)
        call.clock = self.recorder.clock
        self.now = None
        facts = self.facts(module)
        if facts.sensitive:
            layers = [layer for each in facts.sensitive if (layer := each()) is not None]
            call.active = any(layer.training for layer in layers)
            if not call.grad:
                if call.active and call.training:
                    self._evaluates_in_training(call, facts)
                elif not call.training:
                    facts.evaluated += 1
        return call

    def _evaluates_in_training(self, call: RootCall, facts: ModeFacts) -> None:
        site = self.sites.get(call.line)
        if site is None:
            site = self.sites[call.line] = EvalSite(call.line, facts.layers, call.key)
        site.count += 1
        # `train()` called after `eval()`, with no step since: dropout is wanted (Monte Carlo).
        last_step = max((o.last_step for o in self.recorder.optimizers.values()), default=-1)
        if facts.train_set_when > facts.eval_set_when >= 0 and facts.train_set_when > last_step:
            site.deliberate += 1
        self.now = site

    def root_left(self, module: Module, call: RootCall, result: Any) -> None:
        first = result
        while isinstance(first, tuple | list) and first:
            first = first[0]
        if isinstance(first, Tensor) and first._node is not None and call.grad:
            call.node = weakref.ref(first._node)
            self.waiting.append(call)
            if len(self.waiting) > 64:
                del self.waiting[:32]

    def op_without_grad(self, name: str) -> None:
        if self.now is not None and name in METRICS:
            self.now.metrics += 1
            self.now = None

    def sequence_layer(self, module: Module, args: Any) -> None:
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

    def dropout_ran(self, stack: list[Module]) -> None:
        """Dropout is active although the module that runs is in evaluation mode."""
        module = stack[-1]
        if not module.training and not isinstance(module, _DropoutNd):
            self.dropout_in_eval[line_of(here())] += 1

    def backward_begins(self, run: Any) -> None:
        rest = []
        for call in self.waiting:
            node = call.node() if call.node is not None else None
            if node is not None and node in run.nodes:
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
            if call.training or call.active:
                model.train_steps += 1
            elif self._is_trained_by(module, facts):
                model.eval_steps += 1
                model.eval_step_lines[call.line] += 1
        self.trained.clear()

    def _is_trained_by(self, module: Module, facts: OptimizerFacts) -> bool:
        """Whether the optimizer moves parameters of a layer whose mode matters, or near it."""
        numbers = set(facts.params)
        for param in module.parameters():
            known = self.recorder.find(param)
            if known is not None and known.number in numbers and known.reached:
                return True
        return False

    def mode_set(self, module: Module, mode: bool) -> None:
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
