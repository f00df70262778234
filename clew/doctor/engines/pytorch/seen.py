"""What the doctor sees of PyTorch's tensors and nodes.

There is one `SeenTensor` for each tensor that an event has spoken of, and one `SeenNode` for each
node. Neither keeps anything of the program alive: a `SeenTensor` refers to its tensor weakly and
goes with it, and a `SeenNode` is kept by the node that it stands for, in its `metadata`.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import numpy as np
import torch

from clew.doctor.engines.pytorch.device_arrays import DeviceArray, numpy_dtype
from clew.doctor.engines.pytorch.names import custom_name, op_of_node
from clew.doctor.facts.places import Place
from clew.observed import ACCUMULATE_SEQUENCE, Node, Tensor, WeakTensorRef

_KEY = "clew.doctor"
_EMPTY = np.zeros(0, np.float32)
_PLAIN = (torch.Tensor, torch.nn.Parameter)
# Devices whose memory NumPy can see.
HOST = {"cpu"}
_F32 = np.dtype(np.float32)
_leaf_numbers = count(1)


def as_array(tensor: torch.Tensor) -> Any:
    """The memory of a tensor as an array; a copy where NumPy does not know the kind of number."""
    with torch._C.DisableTorchFunction():
        try:
            bare = tensor.detach()
            if bare.device.type not in HOST:
                return _EMPTY if bare.device.type == "meta" else DeviceArray(bare)
            if bare.dtype is torch.bfloat16:
                bare = bare.float()
            return bare.numpy()
        except (RuntimeError, TypeError, NotImplementedError):
            # Sparse, quantized, wrapped by a transform: it has a shape and no values.
            return np.broadcast_to(np.zeros((), _F32), tuple(tensor.shape))


class SeenStorage:
    """A block of memory: who wrote to it last."""

    __slots__ = ("__weakref__", "_of", "untracked", "writer", "written_at")

    def __init__(self, tensor: torch.Tensor) -> None:
        self._of = weakref.ref(tensor)
        self.writer: str | None = None
        self.written_at: Place | None = None
        # A write that PyTorch does not count: its number, by what, and where.
        self.untracked: tuple[int, str, Place | None] | None = None

    @property
    def version(self) -> int:
        tensor = self._of()
        return 0 if tensor is None or tensor.is_inference() else tensor._version


class SeenTensor(Tensor):
    """A tensor of the program's."""

    __slots__ = ("__weakref__", "_leaf", "_ref", "_seen_storage", "_world", "reason")

    _view = None

    def __init__(self, world: World, tensor: torch.Tensor, gone: Callable[[Any], None]) -> None:
        self._world = world
        self._ref = weakref.ref(tensor, gone)
        self._leaf: SeenNode | None = None
        self._seen_storage: SeenStorage | None = None
        self.reason: Any = None

    @property
    def actual(self) -> torch.Tensor | None:
        tensor = self._ref()
        if tensor is not None:
            tensor._fix_weakref()  # type: ignore[attr-defined]  # as torch.utils.weak does
        return tensor

    @property
    def _array(self) -> Any:  # type: ignore[override]  # made when it is asked for
        tensor = self.actual
        return _EMPTY if tensor is None else as_array(tensor)

    @property
    def _requires_grad(self) -> bool:  # type: ignore[override]  # as above
        tensor = self.actual
        with torch._C.DisableTorchFunction():
            return tensor is not None and tensor.requires_grad

    @property
    def _reason(self) -> Any:
        return None if self._requires_grad else self.reason

    @property
    def _grad(self) -> SeenTensor | None:
        tensor = self.actual
        with torch._C.DisableTorchFunction():
            if tensor is None or not tensor.is_leaf:
                return None
            grad = tensor.grad
        return None if grad is None else self._world.tensor(grad)

    @property
    def _node(self) -> SeenNode | None:
        tensor = self.actual
        if tensor is None:
            return None
        with torch._C.DisableTorchFunction():
            if not tensor.requires_grad:
                return None
            try:
                made_by = tensor.grad_fn
            except RuntimeError:
                return None  # a view that may not be used any more: PyTorch will say so
        return self._accumulator() if made_by is None else self._world.node(made_by)

    def _accumulator(self) -> SeenNode:
        if self._leaf is None:
            self._leaf = SeenNode.of_leaf(self)
        return self._leaf

    @property
    def _storage(self) -> SeenStorage:
        if self._seen_storage is None:
            tensor = self.actual
            self._seen_storage = (
                SeenStorage.__new__(SeenStorage) if tensor is None else self._world.storage(tensor)
            )
        return self._seen_storage

    @property
    def _is_lifted(self) -> bool:  # type: ignore[override]  # as above
        tensor = self.actual
        return tensor is not None and is_wrapped(tensor)


def is_wrapped(tensor: torch.Tensor) -> bool:
    """Whether a tensor stands for something else: inside of a transform, or by its class."""
    if type(tensor) not in _PLAIN:
        own = type(tensor).__torch_dispatch__
        if own not in (torch.Tensor.__torch_dispatch__, torch._C._disabled_torch_dispatch_impl):
            return True
    return torch._C._functorch.is_functorch_wrapped_tensor(tensor)


class OpName:
    """The operation of a node."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


_OPS: dict[str, OpName] = {}


def op_called(name: str) -> OpName:
    known = _OPS.get(name)
    if known is None:
        known = _OPS[name] = OpName(name)
    return known


class SeenNode(Node):
    """A node of the program's graph."""

    __slots__ = (
        "__weakref__", "_called", "_dtype", "_edges", "_is_op", "_kept", "_numbers", "_operands",
        "_result", "_seq", "_shape", "_variable", "_where", "freed_at", "is_accumulator",
        "module_path", "op", "overwritten",
    )  # fmt: skip

    def __init__(self, name: str, where: Place | None) -> None:
        self._called = name
        self._where = where
        self._edges: tuple[Any, ...] = ()
        self._shape: tuple[int, ...] = ()
        self._dtype = _F32
        self._seq = 0
        self._kept: dict[str, Any] = {}
        self._numbers: tuple[float, ...] = ()
        self._operands: tuple[weakref.ref[SeenTensor], ...] = ()
        self._result: weakref.ref[SeenTensor] | None = None
        self._is_op = True
        self.is_accumulator = False
        self.module_path: str | None = None
        self.freed_at: Place | None = None
        self.overwritten: tuple[str, Place | None] | None = None  # its result was, in place

    @classmethod
    def of_leaf(cls, tensor: SeenTensor) -> SeenNode:
        made = cls("AccumulateGrad", None)
        made.is_accumulator, made._is_op = True, False
        made._variable = WeakTensorRef(tensor)
        made._seq = ACCUMULATE_SEQUENCE - next(_leaf_numbers)
        array = tensor._array
        made._shape, made._dtype = tuple(array.shape), array.dtype
        return made

    def _name(self) -> str:
        return self._called

    def tensors(self) -> Iterator[SeenTensor]:
        """What it computed, and from what, as far as it is still there."""
        for each in (self._result, *self._operands):
            tensor = None if each is None else each()
            if tensor is not None:
                yield tensor

    @property
    def saved(self) -> tuple[Any, ...]:
        """The factors of a product, as far as backward needs them and they are still there."""
        if self.is_accumulator or not self._is_op or self.op.name not in ("mul", "div", "pow"):
            return ()
        arrays = [
            seen._array
            for each in self._operands
            if (seen := each()) is not None and not seen._requires_grad
        ]
        return (*self._numbers, *((array, None, 0, None) for array in arrays))


class World:
    """All tensors, nodes and blocks of memory that were seen."""

    def __init__(self) -> None:
        self._tensors: dict[int, SeenTensor] = {}
        self._storages: weakref.WeakValueDictionary[int, SeenStorage] = (
            weakref.WeakValueDictionary()
        )
        # Where the operation that runs was asked for; and the path of the module that runs.
        self.where: Place | None = None
        self.path: str | None = None

    def tensor(self, tensor: torch.Tensor) -> SeenTensor:
        key = id(tensor)
        known = self._tensors.get(key)
        if known is not None:
            return known
        tensors = self._tensors

        def gone(_: Any) -> None:
            tensors.pop(key, None)

        made = tensors[key] = SeenTensor(self, tensor, gone)
        return made

    def known(self) -> list[SeenTensor]:
        return list(self._tensors.values())

    def storage(self, tensor: torch.Tensor) -> SeenStorage:
        with torch._C.DisableTorchFunction():
            try:
                key = tensor.untyped_storage()._cdata
            except (RuntimeError, NotImplementedError):
                return SeenStorage(tensor)  # a tensor without memory of its own
        known = self._storages.get(key)
        if known is None or known._of() is None:
            made = self._storages[key] = SeenStorage(tensor)
            if known is not None:
                made.writer, made.written_at = known.writer, known.written_at
            return made
        return known

    def node(self, fn: Any) -> SeenNode:
        """What is seen of a node; it and all behind it that is new was asked for just now."""
        known = fn.metadata.get(_KEY)
        if known is not None:
            return known
        if hasattr(fn, "variable"):
            return self.tensor(fn.variable)._accumulator()
        new = self._new_behind(fn)
        for each in new if len(new) == 1 else sorted(new, key=lambda each: each._sequence_nr()):
            self._see(each)
        return fn.metadata[_KEY]

    def _new_behind(self, fn: Any) -> list[Any]:
        found, todo, seen = [], [fn], {fn}
        while todo:
            node = todo.pop()
            found.append(node)
            for behind, _ in node.next_functions:
                if behind is None or behind in seen or hasattr(behind, "variable"):
                    continue
                seen.add(behind)
                if _KEY not in behind.metadata:
                    todo.append(behind)
        return found

    def new_nodes(self, fn: Any) -> list[SeenNode]:
        """What is seen of a node and of all behind it that was not seen before."""
        if _KEY in fn.metadata or hasattr(fn, "variable"):
            return []
        new = self._new_behind(fn)
        self.node(fn)
        return [each.metadata[_KEY] for each in new]

    def _see(self, fn: Any) -> None:
        name = type(fn).__name__
        made = SeenNode(name, self.where)
        made.module_path = self.path
        made._seq = fn._sequence_nr()
        if isinstance(fn, torch.autograd.function.BackwardCFunction):
            made._is_op, made._called = False, custom_name(name)
        else:
            made.op = op_called(op_of_node(name))
        outputs = fn._input_metadata
        if outputs:
            made._shape, made._dtype = tuple(outputs[0].shape), numpy_dtype(outputs[0].dtype)
        made._edges = tuple(
            None if behind is None else (self.node(behind), number)
            for behind, number in fn.next_functions
        )
        fn.metadata[_KEY] = made


def tensors_in(value: Any) -> Iterator[torch.Tensor]:
    """The tensors of an argument or a result: itself, or those of lists and tuples of them."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, tuple | list):
        for each in value:
            yield from tensors_in(each)
