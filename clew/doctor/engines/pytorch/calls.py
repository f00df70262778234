"""Operations: every call of a function of PyTorch's, and what it does, as events.

A function mode sees the call and knows the user's line; a dispatch mode, which holds for the time
of the call only, sees the operations that it is made of. When the call is over, their results have
their histories, and the events are told.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from clew.core.no_history import NoHistory
from clew.doctor.engines.pytorch.names import (
    LAYERS,
    Signature,
    as_made,
    quiet_functions,
    signature_of,
)
from clew.doctor.engines.pytorch.seen import SeenNode, SeenTensor, op_called, tensors_in
from clew.doctor.facts.places import _runs_users_code, here

if TYPE_CHECKING:
    from clew.doctor.engines.pytorch.hub import Hub

# Operations of which nothing is told: they make memory, or are the library's own bookkeeping.
_RESHAPES = frozenset({"view", "reshape", "flatten", "unflatten", "view_as", "reshape_as"})
_SILENT = frozenset(
    {
        "detach", "lift_fresh", "lift", "empty", "empty_like", "empty_strided", "new_empty",
        "scalar_tensor", "_local_scalar_dense", "is_same_size", "alias", "set", "resize",
        "_has_compatible_shallow_copy_type", "record_stream", "equal",
    }
)  # fmt: skip
# Nodes of these keep the numbers that they multiply with.
_PRODUCTS = frozenset({"mul", "div", "pow"})
_CHOICES = frozenset({"max_dim", "min_dim", "sort", "topk"})
_DROPOUTS = frozenset({"dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout",
                       "feature_alpha_dropout"})  # fmt: skip
_TENSOR = torch.Tensor
_CALLER = 3  # frames between a handler of `Calls.own` and who made the call
# Losses that expand their operands before they compare them.
_EXPANDING = frozenset({"mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"})


class MadeFromNumbers(NoHistory):
    """A tensor was made from numbers or arrays after values had left a graph."""

    __slots__ = ("left_at", "left_through")

    left_at: Any
    left_through: str


class CallMode(TorchFunctionMode):
    """Sees every call."""

    def __init__(self, hub: Hub) -> None:
        super().__init__()
        self.hub = hub

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:  # fmt: skip
        hub = self.hub
        kwargs = kwargs or {}
        state = hub.local.state
        if not hub.is_open or state.busy or state.in_step or func in hub.calls.quiet:
            return func(*args, **kwargs)
        return hub.calls.called(state, func, args, kwargs)


class Operations(TorchDispatchMode):
    """Keeps the operations of one call at a time."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # asking for it would import the compiler

    def __init__(self) -> None:
        super().__init__()
        self.records: list[tuple[Any, Any, Any, Any]] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:  # fmt: skip
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        self.records.append((func, args, kwargs, result))
        return result


class Calls:
    """Turns calls into events."""

    def __init__(self, hub: Hub) -> None:
        self.hub = hub
        self.world = hub.world
        self.quiet = quiet_functions()
        self.operations = Operations()
        self.is_reshape = False  # whether the call is one for a view
        own: dict[Any, Callable[..., Any]] = {
            torch._C._set_grad_enabled: self._grad_mode,
            _TENSOR.backward: self._backward,
            torch.autograd.grad: self._grad,
            _TENSOR.detach: self._detach, torch.detach: self._detach,
            _TENSOR.detach_: self._detach_in_place,
            _TENSOR.data.__get__: self._data,  # type: ignore[attr-defined]  # a descriptor
            _TENSOR.data.__set__: self._set_data,  # type: ignore[attr-defined]  # a descriptor
            _TENSOR.grad.__get__: self._get_grad,  # type: ignore[union-attr]  # a descriptor
            _TENSOR.grad.__set__: self._set_grad,  # type: ignore[union-attr]  # a descriptor
            _TENSOR.requires_grad.__set__: self._set_requires_grad,  # type: ignore[attr-defined]
            _TENSOR.requires_grad_: self._set_requires_grad,
            torch.tensor: self._from_numbers, torch.as_tensor: self._from_numbers,
            torch.asarray: self._from_numbers,
            F.kl_div: self._kl_div,
            F.cosine_similarity: self._similarity, torch.cosine_similarity: self._similarity,
        }  # fmt: skip
        exits = ("item", "tolist", "numpy", "__array__", "__float__", "__int__", "__complex__")
        for name in exits:
            own[getattr(_TENSOR, name)] = self._leaves
        for name, layer in LAYERS.items():
            own[getattr(torch._VF, name)] = self._layer_called(layer)
        self.own = own

    def called(self, state: Any, func: Any, args: Any, kwargs: Any) -> Any:
        own = self.own.get(func)
        if own is not None:
            return own(state, func, args, kwargs)
        if state.backward_runs and not self.hub.in_custom:
            return self.hub.passes.in_hook(func, args, kwargs)
        return self.run(state, func, args, kwargs)

    def run(self, state: Any, func: Any, args: Any, kwargs: Any) -> Any:
        """Run a function and tell of its operations."""
        if torch._C._len_torch_dispatch_stack() or torch._C._functorch.peek_interpreter_stack():
            return func(*args, **kwargs)  # others see and change what operations do
        where = here()
        self.hub.sampling.calls += 1
        records: list[Any] = []
        self.operations.records = records
        # (As `with` would do, without what that does for compilers.)
        torch._C._push_on_torch_dispatch_stack(self.operations)
        try:
            result = func(*args, **kwargs)
        finally:
            torch._C._pop_torch_dispatch_stack(None)
            self.operations.records = []  # which would keep their tensors
        if records:
            self.hub.safely(self._tell, state, func, where, records)
        return result

    # -- operations ------------------------------------------------------------------------------

    def _tell(self, state: Any, func: Any, where: Any, records: Any) -> None:
        self.world.where = where
        name = getattr(func, "__name__", "")
        is_dropout = name in _DROPOUTS
        self.is_reshape = name in _RESHAPES
        if name in _EXPANDING:
            records = _as_given(records)
        records = as_made(records)
        for op, args, kwargs, result in records:
            about = signature_of(op)
            if is_dropout and about.name == "bernoulli":
                self._tell_one(state, _NOISE, (args[0],), {}, result)
            elif about.name not in _SILENT:
                operands, params = about.split(args, kwargs)
                self._tell_one(state, about, operands, params, result)

    def _tell_one(
        self, state: Any, about: Signature, operands: Any, params: Any, result: Any
    ) -> None:
        see = self.world.tensor
        given = [each for each in operands if isinstance(each, _TENSOR)]
        inputs = tuple(see(v) if isinstance(v, _TENSOR) else v for v in operands if v is not None)
        sessions = self.hub.sessions
        if about.is_inplace:
            if given:
                self._written(about.name, given[0], given, state)
                for session in sessions:
                    session.inplace_op_ran(about.name, inputs, inputs[0])
            return
        is_new = not given or about.is_new
        results = list(tensors_in(result))
        has_history = any(each.requires_grad for each in results)
        for each in results:
            out = see(each)
            if is_new:
                for session in sessions:
                    session.tensor_made(out)
                continue
            # (Statistics beside a result have no reason; which element was chosen has one.)
            if not has_history or about.name in _CHOICES:
                self._give_reason(state, about.name, given, each, out)
            if each.requires_grad and (node := out._node) is not None and node._is_op:
                self._name_node(about, inputs, params, node, out)
            for session in sessions:
                if about.is_view:
                    session.view_made(about.name, inputs[0], out)
                else:
                    session.op_ran(about.name, inputs, params, out)

    def _name_node(
        self, about: Signature, inputs: Any, params: Any, node: SeenNode, out: SeenTensor
    ) -> None:
        name = about.name
        if params.get("alpha", 1) != 1 and name in ("add", "sub"):
            name = f"{name}.scaled"
        node.op = op_called(name)
        node._kept = params
        node._operands = tuple(weakref.ref(v) for v in inputs if isinstance(v, SeenTensor))
        node._result = weakref.ref(out)
        if name in _PRODUCTS:
            node._numbers = tuple(float(v) for v in inputs if isinstance(v, int | float))

    def _give_reason(self, state: Any, name: str, given: Any, out: Any, seen: SeenTensor) -> None:
        """Note why a result has no history although it was computed from something that has."""
        if out.requires_grad:
            return
        source = next((each for each in given if each.requires_grad), None)
        if source is None:
            seen.reason = _inherited(self.world.tensor(each) for each in given)
        elif torch.is_grad_enabled():
            seen.reason = NoHistory("not differentiable", name, self.world.where)
            self._cut(seen.reason, self.world.tensor(source))
        else:
            reason = state.no_grad_reason
            seen.reason = reason
            if reason is not None and reason.ancestor is None:
                self._cut(reason, self.world.tensor(source))

    def _cut(self, reason: NoHistory, source: SeenTensor) -> None:
        node = source._node
        if node is not None:
            reason.ancestor = node._name(), node._where
            for session in self.hub.sessions:
                session.history_cut(reason, node)

    def _written(self, name: str, target: Any, given: Any, state: Any) -> None:
        """An operation has written to a tensor."""
        seen = self.world.tensor(target)
        storage = seen._storage
        storage.writer, storage.written_at = f"{name}_", self.world.where
        self.hub.last_write = self.world.where
        node = seen._node
        if node is not None and node._edges and node._edges[0] is not None:
            # What the tensor was before: its node, or one behind that, may have saved it.
            node._edges[0][0].overwritten = f"{name}_", self.world.where
        owner = storage._of()
        if owner is not None and owner is not target and not _shares_version(owner, target):
            number = torch.autograd._get_sequence_nr()
            storage.untracked = (
                number + (0 if storage.untracked is None else storage.untracked[0]),
                f".data.{name}", self.world.where,
            )  # fmt: skip
        if target.requires_grad:
            seen.reason = None
            return
        reason = _inherited(self.world.tensor(each) for each in given[1:])
        if any(each.requires_grad for each in given[1:]):
            reason = state.no_grad_reason
        if reason is not None:
            seen.reason = reason

    # -- functions that are more than their operations ---------------------------------------------

    def _grad_mode(self, state: Any, func: Any, args: Any, kwargs: Any) -> Any:
        was = torch.is_grad_enabled()
        result = func(*args, **kwargs)
        state.grad_mode_set(torch.is_grad_enabled(), was)
        return result

    def _backward(self, state: Any, func: Any, args: Any, kwargs: Any) -> Any:
        # It calls `torch.autograd.backward`, which tells.
        return func(*args, **kwargs)

    def _grad(self, state: Any, func: Any, args: Any, kwargs: Any) -> Any:
        return self.hub.passes.grad(state, func, args, kwargs)

    def _detach(self, state: Any, func: Any, args: Any, kwargs: Any) -> Any:
        return self._aliased(func, args, kwargs, "detach()")

    def _data(self, state: Any, func: Any, args: Any, kwargs: Any) -> Any:
        return self._aliased(func, args, kwargs, ".data")

    def _aliased(self, func: Any, args: Any, kwargs: Any, how: str) -> Any:
        result = func(*args, **kwargs)
        self.hub.safely(self._alias_made, args[0], result, how)
        return result

    def _alias_made(self, source: Any, result: Any, how: str) -> None:
        seen, alias = self.world.tensor(source), self.world.tensor(result)
        if source.requires_grad:
            alias.reason = NoHistory("detach", how, here())
            self._cut(alias.reason, seen)
        else:
            alias.reason = seen.reason
        for session in self.hub.sessions:
            session.alias_made(seen, alias)

    def _detach_in_place(self, state: Any, func: Any, args: Any, kwargs: Any) -> Any:
        seen = self.world.tensor(args[0])
        node = seen._node if args[0].requires_grad else None
        result = func(*args, **kwargs)
        if node is not None:
            seen.reason = NoHistory("detach", "detach_()", here())
            seen.reason.ancestor = node._name(), node._where
            for session in self.hub.sessions:
                session.history_cut(seen.reason, node)
        return result

    def _set_data(self, state: Any, func: Any, args: Any, kwargs: Any) -> Any:
        if isinstance(args[1], _TENSOR):
            self.hub.tell("data_set", self.world.tensor(args[0]), self.world.tensor(args[1]))
        return func(*args, **kwargs)

    def _get_grad(self, state: Any, func: Any, args: Any, kwargs: Any) -> Any:
        result = func(*args, **kwargs)
        caller = sys._getframe(_CALLER)
        if _runs_users_code(caller) or _reads_for_step(caller):
            grad = None if result is None else self.world.tensor(result)
            self.hub.tell("grad_read", self.world.tensor(args[0]), grad)
        return result

    def _set_grad(self, state: Any, func: Any, args: Any, kwargs: Any) -> Any:
        value = args[1] if len(args) > 1 else None
        is_users = _runs_users_code(sys._getframe(_CALLER))
        if is_users and (value is None or isinstance(value, _TENSOR)):
            seen = None if value is None else self.world.tensor(value)
            self.hub.tell("grad_set", self.world.tensor(args[0]), seen)
        return func(*args, **kwargs)

    def _set_requires_grad(self, state: Any, func: Any, args: Any, kwargs: Any) -> Any:
        wanted = args[1] if len(args) > 1 else kwargs.get("requires_grad", True)
        seen = self.world.tensor(args[0])
        if wanted:
            self.hub.tell("requires_grad_set", seen)
        result = func(*args, **kwargs)
        seen.reason = None if wanted else NoHistory("frozen", "requires_grad_(False)", here())
        return result

    def _leaves(self, state: Any, func: Any, args: Any, kwargs: Any) -> Any:
        name = func.__name__
        how = ".numpy()" if name in ("numpy", "__array__") else f".{name.strip('_')}()"
        seen = self.world.tensor(args[0])
        requires_grad = args[0].requires_grad
        state.busy += 1
        try:
            result = func(*args, **kwargs)
        finally:
            state.busy -= 1
        self._left(state, seen, requires_grad, how)
        if how == ".numpy()":
            self.hub.tell("memory_shared", result)
        return result

    def _left(self, state: Any, seen: SeenTensor, requires_grad: bool, how: str) -> None:
        reason = seen._reason
        if requires_grad:
            node = seen._node
            is_leaf = node is None or node.is_accumulator
            ancestor = None if is_leaf or node is None else (node._name(), node._where)
            state.last_exit = how, here(), ancestor
        elif reason is not None and reason.kind == "detach":
            state.last_exit = f"{reason.op}{how}", here(), reason.ancestor
        self.hub.tell("value_left", seen, how)

    def _from_numbers(self, state: Any, func: Any, args: Any, kwargs: Any) -> Any:
        result = func(*args, **kwargs)
        data = args[0] if args else kwargs.get("data")
        for each in tensors_in(data) if isinstance(data, list | tuple) else ():
            # PyTorch reads the numbers of such a list itself.
            self._left(state, self.world.tensor(each), each.requires_grad, ".item()")
        if result is not data:
            self.hub.safely(self._made_from, state, f"{func.__name__}()", data, result)
        return result

    def _made_from(self, state: Any, how: str, data: Any, result: Any) -> None:
        seen = self.world.tensor(result)
        if not result.requires_grad:
            seen.reason = self.entered(state, how, data)
        else:
            seen.reason = None
        for session in self.hub.sessions:
            session.tensor_made(seen)
        if result.requires_grad and (reason := self.entered(state, how, data)) is not None:
            for session in self.hub.sessions:
                session.recorder.overridden[id(seen)] = weakref.ref(seen), reason

    def entered(self, state: Any, how: str, data: Any) -> NoHistory | None:
        """Why a tensor made from numbers has no history; None when nothing had left one."""
        if state.last_exit is not None:
            made = MadeFromNumbers("numpy", how, here())
            made.left_through, made.left_at, made.ancestor = state.last_exit
            return made
        if isinstance(data, _TENSOR) and data.requires_grad:
            reason = NoHistory("detach", how, here())
            self._cut(reason, self.world.tensor(data))
            return reason
        return None

    def _kl_div(self, state: Any, func: Any, args: Any, kwargs: Any) -> Any:
        result = self.run(state, func, args, kwargs)
        given = dict(zip(("input", "target"), args)) | kwargs
        is_log = (len(args) > 5 and args[5]) or kwargs.get("log_target", False)
        if not is_log and {"input", "target"} <= given.keys():
            see = self.world.tensor
            self.hub.tell("divergence_computed", see(given["input"]), see(given["target"]))
        return result

    def _similarity(self, state: Any, func: Any, args: Any, kwargs: Any) -> Any:
        result = self.run(state, func, args, kwargs)
        given = list(dict(zip(("x1", "x2"), args)).values())
        given += [kwargs[name] for name in ("x1", "x2") if name in kwargs]
        if len(given) == 2:
            see = self.world.tensor
            self.hub.tell("similarity_computed", see(given[0]), see(given[1]), see(result))
        return result

    def _layer_called(self, layer: str) -> Callable[..., Any]:
        """A function that is one layer, whatever it is made of."""

        def call(state: Any, func: Any, args: Any, kwargs: Any) -> Any:
            result = func(*args, **kwargs)
            if not state.backward_runs:
                self.hub.safely(self._layer_ran, state, layer, args, result)
            return result

        return call

    def _layer_ran(self, state: Any, layer: str, args: Any, result: Any) -> None:
        self.world.where = here()
        operands = list(tensors_in(args))
        inputs = tuple(map(self.world.tensor, operands))
        for each in tensors_in(result):
            out = self.world.tensor(each)
            self._give_reason(state, layer, operands, each, out)
            if each.grad_fn is not None:
                for node in self.world.new_nodes(each.grad_fn):
                    node.op = op_called(layer)
            for session in self.hub.sessions:
                session.op_ran(layer, inputs, {}, out)


class _Noise:
    """The operation behind dropout."""

    name = "_dropout_noise"
    is_inplace = is_view = is_new = False


_NOISE: Any = _Noise()


def _inherited(given: Any) -> NoHistory | None:
    """The strongest reason of some tensors: one that cut a history, rather than data."""
    found: NoHistory | None = None
    for each in given:
        reason = each._reason
        if reason is not None and (found is None or reason.kind != "numpy"):
            found = reason
    return found


def _as_given(records: Any) -> list[tuple[Any, Any, Any, Any]]:
    """The operations of a loss on its operands as they were given, before they were expanded."""
    given: dict[int, Any] = {}
    kept = []
    for op, args, kwargs, result in records:
        if signature_of(op).name == "expand" and isinstance(args[0], _TENSOR):
            given[id(result)] = args[0]
            continue
        args = tuple(given.get(id(each), each) for each in args)
        kept.append((op, args, kwargs, result))
    return kept


def _shares_version(one: Any, other: Any) -> bool:
    """Whether writes to one tensor count for the other; `.data` and NumPy have their own count."""
    return one.is_inference() or other.is_inference() or one._version == other._version


def _reads_for_step(frame: FrameType) -> bool:
    """Whether an optimizer reads gradients that a closure has made, as LBFGS does."""
    is_optimizer = frame.f_globals.get("__name__") == "torch.optim.lbfgs"
    return is_optimizer and frame.f_code.co_name != "zero_grad"
