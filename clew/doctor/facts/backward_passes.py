"""Backward passes, as the recorder sees them: which leaves they reach, and what becomes of it."""

from __future__ import annotations

import weakref
from collections import Counter
from typing import TYPE_CHECKING, Any

from clew.doctor.facts.graphs import divided_by
from clew.doctor.facts.places import Line, line_of, stack_here
from clew.doctor.facts.records import BackwardSite, ParamFacts, number_mark
from clew.observed import ACCUMULATE_SEQUENCE, Tensor

if TYPE_CHECKING:
    from clew.doctor.facts.recorder import Recorder

# How many backward passes may add to one gradient before their places are no longer listed.
_MANY = 256


def backward_begins(
    recorder: Recorder, run: Any, roots: list[Any], tensors: tuple[Any, ...]
) -> Any:
    """The leaves that this pass will reach, with what is known of them."""
    stack = stack_here()
    place = stack[0] if stack else None
    line = line_of(place)
    site = recorder.sites.get(stack)
    if site is None:
        site = recorder.sites[stack] = BackwardSite(place)
    site.count += 1
    site.sizes.add(site.count, len(run.nodes))
    _note_kept(recorder, run, site)
    leaves = []
    for node in run.nodes:
        if node.is_accumulator:
            tensor = node._variable()
            if tensor is not None:
                known = recorder.facts(tensor)
                known.first_use = known.first_use or node._where
                known.use_order = ACCUMULATE_SEQUENCE - node._seq
                known.see(tensor)
                leaves.append((known, tensor, node))
    _note_uses(run, leaves)
    scale = recorder.loss_scale
    if run.accumulate:
        recorder.cleared_first = recorder.cleared_last
        for known, tensor, _ in leaves:
            if recorder.stepping is not None and known.cleared_when < recorder.step_began:
                # A closure that runs again, and nothing was cleared since the step began.
                known.consumed |= any(before == stack for before, _, _ in known.pending)
            _settle(recorder, known, tensor, line)
        _note_early(recorder, run, line)
        _note_loss(recorder, site, tensors)
        if roots and roots[0][0].is_accumulator and tensors:
            _note_lonely(recorder, tensors[0])
    elif run.targets:
        _note_missed(recorder, run, leaves)
    if run.targets and not (run.accumulate or recorder.optimizers):
        for known, tensor, node in leaves:
            if node in run.targets and not tensor._is_lifted:
                _note_update(known, tensor)
    factor = divided_by(roots[0][0], scale) if roots and run.accumulate else None
    return site, stack, leaves, factor


def _settle(recorder: Recorder, known: ParamFacts, tensor: Tensor, line: Line | None) -> None:
    """Before backward adds to a gradient: is what it holds still wanted?"""
    known.settle_updates()
    if _note_update(known, tensor):
        known.consumed = True
    grad = tensor._grad
    if grad is None:
        known.consumed = known.stale = False
        known.pending.clear()
    elif not recorder.is_cleared_in_place(known, grad) and known.consumed and known.pending:
        known.stale = True
        known.stale_at[line] += 1


def _note_update(known: ParamFacts, tensor: Tensor) -> bool:
    """Before a pass that reaches a leaf: has the program written to it since the last one?"""
    mark = number_mark(tensor)
    if not (known.reached or known.asked):
        known.value_mark = mark  # until the first backward, writes are initialisation
    if mark == known.value_mark:
        return False
    known.manual += 1
    storage = tensor._storage
    untracked = storage.untracked
    known.manual_at = storage.written_at or (untracked[2] if untracked else None)
    known.value_mark = mark
    return True


def _note_missed(recorder: Recorder, run: Any, leaves: list[Any]) -> None:
    """Gradients for a set of parameters, of what was computed with another set like it."""
    targets = [node for node in run.targets if node.is_accumulator]
    if len(targets) < 2 or any(node in run.nodes for node in run.targets):
        return
    wanted = Counter(tuple(node._shape) for node in targets)
    if not wanted - Counter(known.shape for known, _, _ in leaves):
        first = min(leaves, key=lambda leaf: leaf[0].use_order)
        recorder.missed[recorder.called_at or line_of(first[0].first_use)] += 1


def _note_loss(recorder: Recorder, site: BackwardSite, tensors: tuple[Any, ...]) -> None:
    root = tensors[0] if tensors else None
    if isinstance(root, Tensor) and root._array.size == 1:
        value = float(root._array.reshape(-1)[0].real) / recorder.loss_scale
        recorder.loss_scale = 1.0
        recorder.last_loss = value
        site.losses.add(site.count, value)
        recorder.loss.add(recorder.backwards, value)


def _note_lonely(recorder: Recorder, root: Any) -> None:
    """Backward from a leaf: a loss that was wrapped anew, or asked for a gradient too late."""
    if not isinstance(root, Tensor):
        return
    entry = recorder.overridden.get(id(root))
    reason = entry[1] if entry is not None and entry[0]() is root else root._reason
    cut = None if reason is None else line_of(reason.where)
    left = line_of(getattr(reason, "left_at", None))
    recorder.lonely[recorder.born_at(root), left or cut] += 1


def _note_early(recorder: Recorder, run: Any, line: Line | None) -> None:
    """Was a step taken between the building of this graph and its backward?"""
    if not recorder.optimizers:
        return
    users: dict[int, int] = {}
    for node in run.nodes:
        for edge in node._edges:
            if edge is not None and edge[0].is_accumulator:
                key = id(edge[0])
                users[key] = min(users.get(key, node._seq), node._seq)
    first_use = {
        id(tensor): users[id(node)]
        for node in run.nodes
        if node.is_accumulator and id(node) in users and (tensor := node._variable()) is not None
    }
    for facts in recorder.optimizers.values():
        hit = 0
        reached = False
        for number in facts.params:
            tensor = recorder.params[number].ref()
            used = first_use.get(id(tensor)) if tensor is not None else None
            if used is not None:
                reached = True
                if used < facts.seq:
                    hit += 1
        if reached:
            facts.backwards += 1
            facts.backward_at[line] += 1
            if hit and recorder.stepping is not facts:
                facts.early_backwards += 1
                facts.early_at[facts.step_at.most_common(1)[0][0]] += 1


def _note_kept(recorder: Recorder, run: Any, site: BackwardSite) -> None:
    """Graphs that were kept for a second backward: did it come?"""
    waiting = []
    for reference, keeper, when in recorder.kept:
        node = reference()
        if node is not None and node in run.nodes:
            keeper.kept_needed += 1
        elif recorder.steps - when < 3:
            waiting.append((reference, keeper, when))
    recorder.kept = waiting[-256:]
    if run.retain_graph and not run.create_graph:
        site.asked += not run.accumulate
        site.kept += 1
        inner = [n for n in run.nodes if not n.is_accumulator and n._is_op]
        # Any node with something saved would do; the oldest is the likeliest to be shared.
        inner.sort(key=lambda n: n._seq)
        for node in inner[:1] + inner[len(inner) // 2 : len(inner) // 2 + 1] + inner[-1:]:
            recorder.kept.append((weakref.ref(node), site, recorder.steps))


def _note_uses(run: Any, leaves: list[Any]) -> None:
    """Where leaves are used for the first time, if their own nodes do not say it."""
    wanted = {id(node): known for known, _, node in leaves if known.first_use is None}
    for node in run.nodes if wanted else ():
        for edge in node._edges:
            known = None if edge is None else wanted.get(id(edge[0]))
            if known is not None and known.first_use is None:
                known.first_use = node._where


def backward_ends(recorder: Recorder, run: Any, begun: Any) -> None:
    site, stack, leaves, factor = begun
    recorder.backwards += 1
    recorder.accumulations += run.accumulate
    now = recorder.tick()
    stepping = recorder.stepping  # that of a closure
    if run.accumulate and run.create_graph:
        _note_graph_of_gradients(recorder, site, leaves)
    if run.accumulate and leaves and all(known.optimizers for known, _, _ in leaves):
        recorder.passes[now] = [site, len(leaves), 0]
        if len(recorder.passes) > 64:
            del recorder.passes[next(iter(recorder.passes))]
    for known, tensor, node in leaves:
        if not run.accumulate or (run.targets and node not in run.targets):
            if run.targets and node in run.targets:
                known.asked += 1
            elif run.create_graph:
                known.derived += 1
            continue
        if tensor._grad is None:
            continue
        if not known.reached:
            known.first_pass, known.first_steps = recorder.accumulations, recorder.steps
        known.last_pass, known.last_steps = recorder.accumulations, recorder.steps
        known.reached += 1
        known.last_reached = now
        if len(known.pending) < _MANY:
            known.pending.append((stack, factor, now))
        known.grad_mark = number_mark(tensor._grad)
        known.value_mark = number_mark(tensor)
        if stepping is not None and stepping.number in known.optimizers:
            if known.stale:
                known.stale_steps += 1
            known.steps += 1


def _note_graph_of_gradients(recorder: Recorder, site: BackwardSite, leaves: list[Any]) -> None:
    """`create_graph=True`: the gradients have graphs of their own. Does anybody use them?"""
    site.kept += 1
    for _, tensor, _ in leaves[:3]:
        grad = tensor._grad
        if grad is not None and grad._node is not None:
            recorder.kept.append((weakref.ref(grad._node), site, recorder.steps))
