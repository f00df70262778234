"""Recording: what a call of an operation leaves behind for backward.

A `Plan` says, for one set of inputs that require grad, which formulas backward will run and what
they need; `record` makes the node and saves just that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any

import numpy as np

from clew import errors
from clew.backend.dtypes import as_scalar
from clew.core.node import Edge, Node, recorded_edge, restore
from clew.core.saving import OWN, OWN_EDGE, Packed, SavedDual, check_unwritten, save, unpack
from clew.core.state import State, local
from clew.core.storage import next_sequence_number
from clew.core.tensor import Tensor, _ndarray, _new, sync, wrap
from clew.source import INTERNAL_PACKAGES

if TYPE_CHECKING:
    from clew.core.op import Op

# How a name in a formula is obtained: the first two are saved tensors, the others constants.
INPUT, OUTPUT, PARAM, SHAPE, DTYPE, TRANSPOSED, SHAPES, DTYPES, NEEDS = range(9)


class Plan:
    """For one set of inputs that require grad: what to save and which formulas to run."""

    __slots__ = (
        "active",
        "captures",
        "deferred",
        "deferred_edge",
        "frees",
        "is_simple",
        "names",
        "plainly",
        "saved_count",
        "saves_input",
    )

    def __init__(self, op: Op, mask: int) -> None:
        formulas = op.active_formulas(mask)
        names: list[str] = []
        for _, formula in formulas:
            for name in op.formula_names[formula]:
                if name not in names:
                    names.append(name)
        names += [name for name in op.always_saved if name not in names]
        captures = [(op.capture(name), name) for name in names]
        captures.sort(key=lambda item: item[0][0] > OUTPUT)
        self.captures = tuple(capture for capture, _ in captures)
        self.names = tuple(name for _, name in captures)
        self.saved_count = sum(kind <= OUTPUT for kind, _ in self.captures)
        self.saves_input = tuple(index for kind, index in self.captures if kind == INPUT)
        # Whether inputs and outputs are all that their arrays are.
        self.plainly = not op.takes_layouts
        # Whether there is anything to free: numbers stay.
        stays = [op.inputs.index(name) for name in op.numbers]
        self.frees = any(
            kind <= OUTPUT and not (kind == INPUT and index in stays)
            for kind, index in self.captures
        )
        place = {name: index for index, name in enumerate(self.names)}
        self.active = tuple(
            (index, formula, tuple(place[name] for name in op.formula_names[formula]))
            for index, formula in formulas
        )
        # Whether there is one formula, which takes all of it as it comes.
        slots = self.active[0][2] if len(self.active) == 1 else None
        self.is_simple = (
            op.joint is None and len(op.inputs) == 1 and slots == tuple(range(len(self.names)))
        )
        # The same with the deferred formula, and its edge; empty if the other gradient, to compute
        # meanwhile, is not needed.
        self.deferred: tuple[Any, ...] = ()
        self.deferred_edge = -1
        if op.deferred is not None:
            name, beside, deferred_formula = op.deferred
            self.deferred_edge = op.inputs.index(name)
            if mask >> self.deferred_edge & mask >> op.inputs.index(beside) & 1:
                self.deferred = tuple(
                    (index, deferred_formula if index == self.deferred_edge else formula, slots)
                    for index, formula, slots in self.active
                )


# Bits for the edges whose gradients are asked for: all of them.
EVERY_EDGE = -1


class OpNode(Node):
    """The node of an `Op`; each op has its own subclass, so that its type has PyTorch's name."""

    __slots__ = ("constants", "plan", "saved")

    _is_op = True

    op: Op
    plan: Plan
    saved: Any
    constants: tuple[Any, ...]

    def unpacked(self) -> list[Any]:
        """Everything that the formulas may ask for, in the order of `plan.names`."""
        saved = self.saved
        if type(saved) is errors.Freed:
            raise errors.backward_twice(self, saved)
        names = self.plan.names
        pool: list[Any] = []
        attached = local.state.grad_enabled
        for index, value in enumerate(saved):
            if type(value) is tuple and not attached:
                # Without a graph of the gradient, a tensor without history is enough.
                array, storage, version, _ = value
                if storage.version != version or storage.is_suspect:
                    check_unwritten(self, names[index], value)
                pool.append(restore(array, storage, None, 0))
            elif type(value) is SavedMany:
                pool.append(tuple(unpack(each, self, "out") for each in value))
            else:
                pool.append(unpack(value, self, names[index]))
        if self.constants:
            pool.extend(self.constants)
        return pool

    def apply_some(self, grads: tuple[Tensor | None, ...], wanted: int) -> Sequence[Tensor | None]:
        return self.apply_tensors(grads, wanted)

    def apply_tensors(
        self, grads: tuple[Tensor | None, ...], wanted: int = EVERY_EDGE
    ) -> Sequence[Tensor | None]:
        op = self.op
        g: Any = grads[0]
        # Also where there is no gradient, what was saved must still be there.
        pool = self.unpacked() if self.plan.captures else []
        if op.outputs != 1:
            if all(grad is None for grad in grads):
                return (None,) * len(self._edges)
            g = grads
        elif g is None:
            return (None,) * len(self._edges)
        return self.apply_formulas(g, pool, wanted)

    def apply_formulas(
        self, g: Any, pool: list[Any], wanted: int = EVERY_EDGE
    ) -> Sequence[Tensor | None]:
        """What the formulas make of a gradient (a tuple where there are several) and a pool."""
        op = self.op
        if op.joint is not None:
            _, formula, slots = self.plan.active[0]
            if wanted != EVERY_EDGE and "needs" in self.plan.names:
                place = self.plan.names.index("needs")
                needs = enumerate(pool[place])
                pool[place] = tuple([need and bool(wanted >> i & 1) for i, need in needs])
            return tuple(formula(g, *[pool[slot] for slot in slots]))
        edges = self._edges
        results: list[Tensor | None] = [None] * len(edges)
        for index, formula, slots in self.plan.active:
            count = len(slots)
            if not wanted >> index & 1 or edges[index] is None:
                continue
            if count == 1:
                results[index] = formula(g, pool[slots[0]])
            elif count == 0:
                results[index] = formula(g)
            else:
                results[index] = formula(g, *[pool[slot] for slot in slots])
        return results

    def apply_deferred(
        self, g: np.ndarray, freed: errors.Freed | None
    ) -> Sequence[np.ndarray | None]:
        """`apply_bare` with the deferred formula."""
        return self.apply_bare(g, freed, self.plan.deferred)

    def apply_bare(
        self, g: np.ndarray, freed: errors.Freed | None, formulas: tuple[Any, ...] = ()
    ) -> Sequence[np.ndarray | None]:
        """The same formulas over bare arrays: no graph of the gradient is asked for."""
        if g.itemsize == 2:
            return self.apply_to_halves(g, freed)
        plan = self.plan
        pool: list[Any] = []
        if plan.captures:
            self.unpack_bare(g, pool)
            if freed is not None and plan.frees:
                self.saved = freed
        if plan.is_simple:
            array = plan.active[0][1](g, *pool)
            return (array if type(array) is _ndarray else np.asarray(array),)
        if self.op.joint is not None:
            _, formula, slots = plan.active[0]
            return list(formula(g, *[pool[slot] for slot in slots]))
        results: list[np.ndarray | None] = [None] * len(self._edges)
        for index, formula, slots in formulas or plan.active:
            if not slots:
                array = formula(g)
            elif len(slots) == 1:
                array = formula(g, pool[slots[0]])
            else:
                array = formula(g, *[pool[slot] for slot in slots])
            results[index] = array if type(array) is _ndarray else np.asarray(array)
        return results

    def apply_to_halves(
        self, g: np.ndarray, freed: errors.Freed | None
    ) -> Sequence[np.ndarray | None]:
        """`apply_bare` of halves, by operations: NumPy would round numbers and all steps."""
        results = self.apply_tensors((wrap(g),))
        if freed is not None:
            self.release(freed)
        return [None if each is None else each._array for each in results]

    def unpack_bare(self, g: np.ndarray, pool: list[Any]) -> None:
        """Everything that the formulas may ask for, as bare arrays."""
        saved = self.saved
        if type(saved) is errors.Freed:
            raise errors.backward_twice(self, saved)
        names = self.plan.names
        for value in saved:
            if type(value) is tuple:
                array, storage, version, _ = value
                if storage.version != version or storage.is_suspect:
                    check_unwritten(self, names[len(pool)], value)
                pool.append(array if array.ndim or not g.ndim else zero_dim_operand(array, g.dtype))
            elif type(value) is float:
                pool.append(as_scalar(value, g.dtype))
            elif type(value) is Packed or type(value) is SavedDual:
                pool.append(unpack(value, self, names[len(pool)])._array)
            else:
                pool.append(value)
        if self.constants:
            pool.extend(self.constants)

    def needs(self, name: str) -> bool:
        op, plan = self.op, self.plan
        # Of a single input, PyTorch saves without asking.
        if len(op.grads) < 2 or name in op.always_saved or name not in plan.names:
            return True
        place = plan.names.index(name)
        return any(place in slots and self._edges[edge] for edge, _, slots in plan.active)

    def release(self, freed: errors.Freed) -> None:
        if self.plan.frees:
            self.saved = freed

    def _name(self) -> str:
        return self.op.node_name


def zero_dim_operand(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """A 0-dim operand of arrays that have dimensions: as PyTorch's, it does not widen them."""
    if array.dtype is dtype or array.dtype.kind not in "fc" or dtype.kind not in "fc":
        return array
    return array.astype(dtype) if array.dtype.kind == "f" or dtype.kind == "c" else array


# What PyTorch calls the node of an operation that may be in a graph, but has no derivative.
NOT_IMPLEMENTED = "torch::autograd::NotImplemented"


class RefusingNode(OpNode):
    """The node of an operation without a derivative: backward ends there in any case."""

    __slots__ = ()

    comes_first = True

    def apply_tensors(
        self, grads: tuple[Tensor | None, ...], wanted: int = EVERY_EDGE
    ) -> Sequence[Tensor | None]:
        (_, refuse, _), *_ = self.plan.active
        return (refuse(grads[0]),)


class SavedTensor:
    """One tensor that a node saved: it may be given a pair of hooks of its own."""

    __slots__ = ("index", "node")

    def __init__(self, node: OpNode | None = None, index: int = 0) -> None:
        if node is None:
            raise RuntimeError(
                "Trying to create a SavedTensor object from Python is forbidden."
                + errors.at_user_line()
            )
        self.node = node
        self.index = index

    def unpack(self) -> Any:
        return self.node.unpacked()[self.index]

    def register_hooks(
        self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]
    ) -> None:
        """Replace the saved tensor by what `pack_hook` makes of it."""
        saved = self.node.saved
        if type(saved) is errors.Freed:
            raise errors.saved_hooks_refused(
                "after it has been freed. Saved intermediate values of the graph are freed when "
                "you call .backward() or autograd.grad()."
            )
        value = saved[self.index]
        if type(value) is Packed:
            raise errors.saved_hooks_refused(
                "whose hooks have already been set. Hint: only one pair of hooks is allowed at a "
                "time."
            )
        if type(value) is not tuple:
            raise errors.saved_hooks_refused("with value None is forbidden")
        array, storage, _, edge = value
        source, number = edge or (None, 0)
        tensor = restore(array, storage, None if source is OWN else source, number)
        packed = Packed(tensor, (pack_hook, unpack_hook), edge)
        self.node.saved = (*saved[: self.index], packed, *saved[self.index + 1 :])


def saved_properties(op: Op) -> dict[str, Any]:
    """`_saved_self`, `_saved_result`, `_saved_dim`, ...: what PyTorch's nodes show."""

    def reader(name: str) -> property:
        def read(node: OpNode) -> Any:
            if name not in node.plan.names:
                return None
            return node.unpacked()[node.plan.names.index(name)]

        return property(read)

    def raw(name: str) -> property:
        def read(node: OpNode) -> Any:
            names = node.plan.names
            return SavedTensor(node, names.index(name)) if name in names else None

        return property(read)

    shown = {"out": "result", "self_shape": "self_sym_sizes"}
    shown |= {f"out{number}": f"result{number}" for number in range(4)}
    names = {name for formula in op.formula_names.values() for name in formula}
    readers = {f"_saved_{shown.get(name, name)}": reader(name) for name in names}
    raws = {
        f"_raw_saved_{shown.get(name, name)}": raw(name)
        for name in names
        if op.capture(name)[0] <= OUTPUT
    }
    return readers | raws


def grad_mask(inputs: tuple[Any, ...], follow: Callable[[Tensor], None] = sync) -> int:
    """A bit for each input that requires grad, after bringing views up to date."""
    mask = 0
    for index, value in enumerate(inputs):
        if isinstance(value, Tensor):
            if value._view is not None:
                follow(value)
            if value._requires_grad:
                mask |= 1 << index
    return mask


def edges_of(inputs: tuple[Any, ...]) -> list[Edge | None]:
    """Where the gradients of the inputs go."""
    return [
        recorded_edge(value) if isinstance(value, Tensor) and value._requires_grad else None
        for value in inputs
    ]


def record(
    state: State,
    plan: Plan,
    node_class: type[OpNode],
    inputs: tuple[Any, ...],
    params: dict[str, Any],
    outs: tuple[Tensor, ...],
    edges: list[Edge | None],
    frame: FrameType | None,
) -> OpNode:
    """The node of one call. It does not touch the outputs: the caller makes it their history."""
    # Filled as an OpNode: Python caches how attributes are set for one class at a place, and the
    # operations that come by here would each bring another.
    node: OpNode = _new(OpNode)
    out = outs[0]
    array = out._layout
    node._shape = array.shape
    node._dtype = array.dtype
    node._outputs = node._extras = None
    if len(outs) != 1:
        node._outputs = tuple([(out._layout.shape, out._layout.dtype) for out in outs])
    node.plan = plan
    node.module_path = state.module_path
    while frame is not None and frame.f_globals.get("__package__") in INTERNAL_PACKAGES:
        frame = frame.f_back
    if frame is None:
        node._code, node._lasti = None, 0
    else:
        node._code = frame.f_code
        node._lasti = frame.f_lasti
    node._edges = tuple(edges)
    captures = plan.captures
    # Numbered after the saving, so that what happened before it has a lower number.
    if not captures:
        node.saved = node.constants = ()
        node._seq = next_sequence_number()
        node.__class__ = node_class
        return node
    saved: list[Any] = []
    constants: list[Any] = []
    plainly = plan.plainly and not state.saved_hooks and not state.dual
    for kind, key in captures:
        if kind == INPUT:
            value = inputs[key]
            if not isinstance(value, Tensor):
                saved.append(value)
                continue
            storage = value._storage
            if plainly and not storage.is_inference:
                saved.append((value._array, storage, storage.version, edges[key]))
            else:
                saved.append(save(value))
        elif kind == PARAM:
            constants.append(params.get(key))
        elif kind == OUTPUT:
            storage = out._storage
            if plainly and len(outs) == 1 and not storage.is_inference:
                saved.append((out._array, storage, storage.version, OWN_EDGE))
            else:
                saved.append(save_outputs(outs, key))
        elif kind == SHAPE and isinstance(inputs[key], Tensor):
            constants.append(inputs[key]._layout.shape)
        else:
            constants.append(fact(kind, key, inputs))
    node.saved, node.constants = tuple(saved), tuple(constants)
    node._seq = next_sequence_number()
    node.__class__ = node_class
    return node


def save_outputs(outs: tuple[Tensor, ...], which: int | None) -> Any:
    """All outputs of an operation, or the one that a formula names by its number."""
    if which is not None:
        return save(outs[which], output_of=differentiable(outs[which]))
    if len(outs) == 1:
        return save(outs[0], output_of=True)
    return SavedMany([save(out, output_of=differentiable(out)) for out in outs])


def differentiable(tensor: Tensor) -> bool:
    """Whether a gradient can exist: floats and complex numbers. (bfloat16 has the kind V.)"""
    return tensor._layout.dtype.kind in "fcVW"


def fact(kind: int, key: Any, inputs: tuple[Any, ...]) -> Any:
    """A shape, dtype or memory order of the inputs, or which of them require grad."""
    if kind == SHAPE:
        value = inputs[key]
        return value._layout.shape if isinstance(value, Tensor) else ()
    if kind == DTYPE:
        value = inputs[key]
        return value.dtype if isinstance(value, Tensor) else None
    if kind == TRANSPOSED:
        rows, columns = inputs[key]._array.strides
        return rows < columns
    if kind == SHAPES:
        return tuple([v._layout.shape if isinstance(v, Tensor) else None for v in inputs])
    if kind == DTYPES:
        return tuple([v.dtype if isinstance(v, Tensor) else None for v in inputs])
    return tuple([isinstance(v, Tensor) and v._requires_grad for v in inputs])


class SavedMany(list[Any]):
    """The saved outputs of an operation with several."""
