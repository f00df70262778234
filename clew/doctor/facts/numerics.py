"""Numbers of a run: the first value that is not finite, activations, gradients, updates."""

from __future__ import annotations

import math
import weakref
from collections import defaultdict
from typing import Any

import numpy as np

from clew.doctor.facts.graphs import inputs_of, meet_weight, op_name, through_moves
from clew.doctor.facts.places import Line, Place, here, line_of
from clew.doctor.facts.recorder import Recorder
from clew.doctor.facts.records import Activity, ParamFacts, Series
from clew.observed import Node, Tensor, WeakTensorRef, elements

# Operations whose results are finite whenever their inputs are, or that write infinities on
# purpose (masks): they hand on what they get, but are never where a NaN came from.
QUIET = frozenset(
    {
        "view", "_unsafe_view", "reshape", "squeeze", "squeeze_dim", "squeeze_dims", "unsqueeze",
        "transpose", "permute", "t", "alias", "clone", "slice", "select", "expand", "copy",
        "diagonal", "split", "split_with_sizes", "unbind", "cat", "stack", "flip", "roll",
        "index_select", "gather", "embedding", "relu", "neg", "abs", "sign", "floor", "ceil",
        "round", "tanh", "sigmoid", "leaky_relu", "hardtanh", "elu", "softplus", "masked_fill",
        "masked_fill_tensor", "fill", "fill_tensor", "zero", "tril", "triu", "where", "eq", "ne",
        "lt", "le", "gt", "ge", "argmax", "argmin", "max", "min", "max_dim", "min_dim", "amax",
        "amin", "maximum", "minimum", "clamp", "clamp.numbers", "clamp_min", "clamp_max",
        "clamp_min.number", "clamp_max.number", "sort", "topk", "isnan", "isinf", "isfinite",
        "repeat", "nan_to_num", "scatter", "scatter_value", "index_fill", "constant_pad_nd",
        "max_pool2d_with_indices", "unfold", "real", "imag", "masked_select", "as_strided",
        "_dropout_noise", "gelu", "silu", "one_hot", "nonzero",
    }
)  # fmt: skip
# Gradient formulas that cannot turn finite numbers into others, except by overflow.
QUIET_BACKWARD = QUIET | {"add", "sub", "rsub", "sum", "sum_dim", "mean", "mean_dim", "add.scaled"}
# Written with these, a ReLU is one that ends at zero.
CLAMPS = frozenset({"clamp", "clamp.numbers", "clamp_min", "clamp_min.number", "maximum"})
_SATURATING = {"sigmoid": (0.005, 0.995), "tanh": (-0.99, 0.99)}
_KEPT = 1 << 26  # weights that are kept for a step, to see by how much it changes them
_PRODUCTS = frozenset({"mm", "bmm", "addmm", "baddbmm", "mv", "convolution", "convolution_bias"})


def is_finite(array: np.ndarray) -> bool:
    """Whether all elements are finite; a sum answers for most arrays without a second one."""
    if type(array) is not np.ndarray or array.dtype.kind != "f":
        # An array on another device is asked there; under vmap one array stands for many.
        ask = getattr(array, "is_finite", None)
        return True if ask is None else bool(ask())
    if array.ndim == 0:
        return math.isfinite(array)
    total = np.add.reduce(array, axis=None)
    # An overflowing sum of finite numbers is not finite either, so only a finite sum is an answer.
    return bool(total - total == 0) or bool(np.isfinite(array).all())


# However few steps are looked at: the first ones are.
FIRST_STEPS = 24


class Origin:
    """The operation that made the first value that is not finite."""

    def __init__(self, op: str, place: Place | None, backward: bool) -> None:
        self.op = op
        self.place = place
        self.backward = backward
        self.kind = "NaN"
        self.module: str | None = None
        self.step = 0
        self.facts = ""
        self.from_data = False
        self.branch: Line | None = None  # the `where` that does not take its bad values

    @property
    def line(self) -> Line | None:
        return line_of(self.place)


class NumberWatch:
    """Sees operations and gradients, and keeps statistics of them."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.tainted: dict[int, tuple[weakref.ref[Tensor], Origin | None]] = {}
        self.reported: Origin | None = None
        self.backward_origin: Origin | None = None
        self.candidates: list[Origin] = []
        self.activities: dict[Any, Activity] = {}
        self.nodes: dict[int, Activity] = {}
        self.sampling = True
        self.every = 0  # by the program's wish: look at every so many steps
        self.is_looking = True  # at operations, and not only at the order of the loop
        self.before: list[tuple[ParamFacts, np.ndarray]] | None = None
        self.total_norm = Series()
        self.ratio = Series()
        # Of each update: the most that it can lower the loss by (as a share of it), and its length
        # for a gradient of length one.
        self.reach = Series()
        self.rate = Series()
        self.last_norm = 0.0
        # The program's own updates: the last gradient of one leaf, and how many went up along it.
        self.slope: tuple[int, np.ndarray] | None = None
        self.ascents = 0
        self.expects_overflow = False
        # For each line of the first forward: by how many orders of magnitude it enlarges.
        self.growth: defaultdict[Line | None, float] = defaultdict(float)
        self.pass_at: Place | None = None  # the line that asked for the backward pass
        self.in_custom = 0  # custom functions whose backward is running

    # -- which steps are looked at closely ---------------------------------------------------

    def choose(self, step: int) -> None:
        """Every step at first, then ever fewer: numbers change slowly, time is the user's."""
        every = 1 if step < 24 else 4 if step < 100 else 16 if step < 1000 else 64
        if self.every:
            every = 1 if step < FIRST_STEPS else self.every
        self.sampling = step % every == 0

    # -- forward -----------------------------------------------------------------------------

    def check(self, name: str, inputs: tuple[Any, ...], out: Tensor) -> None:
        """After an operation that may produce infinities or NaNs."""
        if self.reported is not None or is_finite(out._array):
            return
        if not self.recorder.local.state.backward_runs:
            self.not_finite(name, inputs, out)
        elif self.in_custom and self.backward_origin is None:
            self.custom_backward(name, inputs, out)
        else:
            self.hook_ran(name, inputs, out)

    def hook_ran(self, name: str, inputs: tuple[Any, ...], out: Tensor) -> None:
        """An operation during a backward pass: in a hook of the user's, it may be an origin."""
        known = name in QUIET or self.reported is not None or self.backward_origin is not None
        if not known and not is_finite(out._array) and here() != self.pass_at:
            self.custom_backward(name, inputs, out)

    def custom_backward(self, name: str, inputs: tuple[Any, ...], out: Tensor) -> None:
        """An operation of the user's own in the backward of a custom function."""
        if any(isinstance(v, Tensor) and not is_finite(v._array) for v in inputs):
            return
        origin = Origin(name, here(), backward=True)
        origin.kind = "NaN" if np.isnan(out._array).any() else "Inf"
        origin.step = self.recorder.steps
        origin.facts = _describe(inputs, out._array)
        self.backward_origin = origin

    def not_finite(self, name: str, inputs: tuple[Any, ...], out: Tensor) -> None:
        origin: Origin | None = None
        has_nan = bool(np.isnan(out._array).any())
        bad_input = False
        nan_input = False
        for value in inputs:
            if isinstance(value, Tensor) and not is_finite(value._array):
                bad_input = True
                nan_input |= bool(np.isnan(value._array).any())
                entry = self.tainted.get(id(value))
                if entry is not None and entry[0]() is value and entry[1] is not None:
                    origin = entry[1]
                elif np.isnan(value._array).any():
                    origin = self._from_outside(value)
        if origin is None and (not bad_input or (has_nan and not nan_input)):
            origin = Origin(name, here(), backward=False)
            origin.kind = "NaN" if has_nan else "Inf"
            origin.module = None if out._node is None else out._node.module_path
            origin.step = self.recorder.steps
            origin.facts = _describe(inputs, out._array)
            if len(self.candidates) < 64:
                self.candidates.append(origin)
        self._taint(out, origin)

    def _from_outside(self, value: Tensor) -> Origin:
        known = self.recorder.find(value)
        if known is not None and (known.steps or known.manual):
            origin = Origin("optimizer.step", None, backward=False)
            origin.facts = f"{known.shown} is not finite after a step"
        else:
            born = self.recorder.births.get(id(value))
            place = born[1] if born is not None and born[0]() is value else None
            origin = Origin("data", place or here(), backward=False)
            origin.from_data = True
            origin.facts = f"{int(np.isnan(value._array).sum())} of {value._array.size} are NaN"
        origin.step = self.recorder.steps
        return origin

    def _taint(self, tensor: Tensor, origin: Origin | None) -> None:
        if len(self.tainted) > 4096:
            self.tainted = {k: v for k, v in self.tainted.items() if v[0]() is not None}
        self.tainted[id(tensor)] = WeakTensorRef(tensor), origin

    def hand_on(self, inputs: tuple[Any, ...], out: Tensor) -> None:
        """After a quiet operation, while there are tainted tensors."""
        for value in inputs:
            entry = self.tainted.get(id(value))
            if entry is not None and entry[0]() is value:
                if not is_finite(out._array):
                    self._taint(out, entry[1])
                return

    def loss_seen(self, root: Any) -> None:
        """Backward begins: if the loss is not finite, its origin is the finding."""
        if self.reported is not None or not isinstance(root, Tensor) or is_finite(root._array):
            return
        if self.expects_overflow and not np.isnan(root._array).any():
            return  # a gradient scaler tries scales until they fit
        entry = self.tainted.get(id(root))
        origin = entry[1] if entry is not None and entry[0]() is root else None
        if origin is None and not self.is_looking:
            return  # the next step that is looked at will show it
        if origin is None and self.candidates:
            origin = self.candidates[-1]
        self.reported = origin or Origin("loss", here(), backward=False)

    def scale(self, place: Place | None, inputs: tuple[Any, ...], out: Tensor) -> None:
        """During the first iteration: by how much the operations of a line enlarge values."""
        before = 0.0
        for value in inputs:
            if (
                isinstance(value, Tensor)
                and (source := through_moves(value._node)) is not None
                and not source.is_accumulator
                and value._array.dtype.kind == "f"
            ):
                before = max(before, _rms(value._array))
        after = _rms(out._array) if out._array.dtype.kind == "f" else 0.0
        if 0 < before < math.inf and 0 < after < math.inf:
            self.growth[line_of(place)] += math.log10(after / before)

    # -- backward ----------------------------------------------------------------------------

    def node_ran(self, node: Node, grads: Any, results: Any) -> None:
        """After a node's backward: the first one that makes an infinity or a NaN is the origin."""
        if self.backward_origin is not None or self.reported is not None:
            return
        for result in results:
            if result is None:
                continue
            array = elements(result) if isinstance(result, Tensor) else result
            if is_finite(array):
                continue
            for grad in grads:
                got = elements(grad) if isinstance(grad, Tensor) else grad
                if got is not None and not is_finite(got):
                    return
            origin = Origin(node._name(), node._where, backward=True)
            origin.kind = "NaN" if np.isnan(array).any() else "Inf"
            origin.module = node.module_path
            origin.step = self.recorder.steps
            bad = int((~np.isfinite(array)).sum())
            origin.facts = f"{bad} of {array.size} elements of its gradient"
            origin.branch = _unused_branch(node, self.recorder.local.state.backward_runs)
            self.backward_origin = origin
            return

    def backward_done(self, leaves: list[Any], accumulated: bool) -> None:
        """A gradient that is not finite, from a loss that is: its origin is the finding."""
        origin = self.backward_origin
        self.backward_origin = None
        if not accumulated:
            return
        if origin is not None and self.reported is None and not self.expects_overflow:
            for _, tensor, _ in leaves:
                grad = tensor._grad
                if grad is not None and not is_finite(elements(grad)):
                    self.reported = origin
                    return
        if self.sampling:
            self._gradient_norms(leaves)

    def _gradient_norms(self, leaves: list[Any]) -> None:
        total = 0.0
        step = self.recorder.steps
        for known, tensor, _ in leaves:
            grad = tensor._grad
            if grad is None or elements(grad).dtype.kind != "f":
                continue
            array = elements(grad)
            square = _square(array)
            norm = math.sqrt(square) if square >= 0 else math.nan
            known.grad_norm.add(step, norm)
            total += square
            if norm == 0.0:
                known.zero_grads += 1
            else:
                known.nonzero_grads += 1
        self.last_norm = math.sqrt(total) if total >= 0 else math.nan
        self.total_norm.add(step, self.last_norm)

    def mark_outputs(self, roots: Any) -> None:
        """Activations between the loss and the last layer with weights are outputs."""
        if not self.nodes:
            return
        todo = [node for node, _ in roots]
        seen = set(map(id, todo))
        while todo and len(seen) < 500:
            node = todo.pop()
            activity = self.nodes.get(node._seq)
            if activity is not None:
                activity.is_output = True
            behind = inputs_of(node)
            if op_name(node) in _PRODUCTS or meet_weight(behind):
                continue
            for each in behind:
                if id(each) not in seen:
                    seen.add(id(each))
                    todo.append(each)
        self.nodes.clear()

    # -- steps ---------------------------------------------------------------------------------

    def step_begins(self, members: list[tuple[ParamFacts, Tensor]]) -> None:
        self.keep_weights([each for each in members if each[1]._grad is not None])

    def keep_weights(self, members: list[tuple[ParamFacts, Tensor]]) -> None:
        """Before an update: what the weights were."""
        self.before = None
        if self.sampling:
            self.before, left = [], _KEPT
            for known, tensor in members:
                array = tensor._array
                if array.dtype.kind == "f" and array.size <= left:
                    left -= array.size
                    self.before.append((known, array.copy()))

    def keep_slope(self, members: list[tuple[ParamFacts, Tensor]]) -> None:
        """Before the program's own update: which way is up."""
        largest = max(members, key=lambda each: each[0].size, default=None)
        grad = None if largest is None else largest[1]._grad
        self.slope = None
        if largest is not None and grad is not None and self.before is not None:
            self.slope = largest[0].number, grad._array.copy()

    def _note_direction(self, known: ParamFacts, change: np.ndarray) -> None:
        slope = self.slope
        # (A program may give a parameter other data, of another shape.)
        if slope is not None and slope[0] == known.number and slope[1].shape == change.shape:
            up = float(np.vdot(change, slope[1]).real)
            self.ascents += 1 if up > 0 else -1 if up < 0 else 0

    def step_ends(self) -> None:
        self.compare_weights()
        self.choose(self.recorder.steps)

    def compare_weights(self, by_hand: bool = False) -> None:
        """After an update: by how much it has changed them.

        Where the program updates them itself, a pass without one after it was for the gradients.
        """
        before, self.before = self.before, None
        if not before:
            return
        changed = weights = 0.0
        ratios: list[tuple[Series, float]] = []
        step = self.recorder.steps
        for known, old in before:
            tensor = known.ref()
            if tensor is None or tensor._array.shape != old.shape:
                continue
            weight = _square(old)
            change = _square(np.subtract(tensor._array, old, out=old))
            self._note_direction(known, old)
            changed += change
            weights += weight
            if weight > 0 and change >= 0:
                ratios.append((known.update_ratio, math.sqrt(change / weight)))
        if by_hand and changed == 0:
            return
        for series, ratio in ratios:
            series.add(step, ratio)
        if weights > 0 and changed >= 0:
            self.ratio.add(step, math.sqrt(changed / weights))
        norm, loss = self.last_norm, self.recorder.last_loss
        if changed >= 0 and norm and loss and math.isfinite(norm):
            moved = math.sqrt(changed)
            self.reach.add(step, moved * norm / abs(loss))
            self.rate.add(step, moved / norm)

    # -- activations ---------------------------------------------------------------------------

    def activation(self, name: str, key: Any, place: Place | None, out: Tensor) -> None:
        """Which units of an activation were active, or saturated, on a sampled step."""
        array = out._array
        if array.ndim < 2 or array.dtype.kind != "f":
            return
        if name in CLAMPS and not (array.size and array.min() == 0):
            return
        activity = self.activities.get(key)
        if activity is None:
            if len(self.activities) > 512:
                return
            activity = self.activities[key] = Activity(name, place, None)
            activity.first_step = self.recorder.steps
            activity.order = len(self.activities)
        activity.samples += 1
        if out._node is not None:
            self.nodes[out._node._seq] = activity
        if "softmax" in name:
            if array.shape[-1] >= 3:
                sharp = np.count_nonzero(array.max(axis=-1) > 0.999) / (
                    array.size // array.shape[-1]
                )
                activity.saturated.add(self.recorder.steps, sharp)
            return
        limits = _SATURATING.get(name)
        if limits is not None:
            extreme = np.count_nonzero((array < limits[0]) | (array > limits[1]))
            activity.saturated.add(self.recorder.steps, extreme / array.size)
            return
        axis = 1 if array.ndim in (3, 4, 5) and array.ndim != 3 else array.ndim - 1
        over = tuple(i for i in range(array.ndim) if i != axis)
        active: Any = (array > 0).any(axis=over)
        if activity.active is None or activity.active.shape != active.shape:
            activity.window = 0
        else:
            active = activity.active | active
        activity.active = active
        activity.window += 1
        if activity.window >= 6:
            activity.dead_shares.append(1.0 - float(active.mean()))
            activity.active, activity.window = None, 0


def _unused_branch(node: Node, runs: Any) -> Line | None:
    """The line of a `where` that has the result of `node` as one of its branches."""
    for each in runs[-1].nodes if runs else ():
        if op_name(each) == "where" and any(through_moves(b) is node for b in inputs_of(each)):
            return line_of(each._where)
    return None


def _rms(array: np.ndarray) -> float:
    return math.sqrt(_square(array) / array.size) if array.size else 0.0


def _square(array: Any) -> float:
    """The sum of the squares."""
    if type(array) is not np.ndarray:
        return float(array.square_sum())  # on another device, or wherever it is
    flat = array.reshape(-1)
    if array.dtype.itemsize < 4:
        flat = flat.astype(np.float32)
    value = float(np.dot(flat, flat))
    if value == math.inf or (value == 0.0 and array.size):
        wide = flat.astype(np.float64)
        value = float(np.dot(wide, wide))
    return value


def _describe(inputs: tuple[Any, ...], out: np.ndarray) -> str:
    """The offending values: the inputs at the first element that is not finite."""
    bad = np.argwhere(~np.isfinite(out))
    if not len(bad):
        return ""
    index = tuple(int(i) for i in bad[0])
    parts = []
    for value in inputs:
        if isinstance(value, Tensor):
            array = value._array
            if array.shape == out.shape:
                parts.append(f"{array[index]:.4g}" if array.dtype.kind == "f" else "?")
            elif array.size and array.dtype.kind == "f":
                parts.append(f"values from {array.min():.3g} to {array.max():.3g}")
        elif isinstance(value, int | float):
            parts.append(f"{value:.4g}")
    where = f" at index {list(index)}" if index else ""
    return (
        f"{len(bad)} of {out.size} elements; first{where}, from {', '.join(parts) or 'its inputs'}"
    )
