"""`autograd.graph`: looking at the graph, and hooks on what it saves and computes."""

import functools
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from clew import errors
from clew.autograd.grad_mode import _Mode
from clew.core.hooks import RemovableHandle
from clew.core.inplace import bump_version
from clew.core.node import Node, Nowhere, live_edge
from clew.core.state import local
from clew.core.tensor import Tensor
from clew.forking import add_lock
from clew.interrupts import uninterrupted

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]


class GradientEdge(NamedTuple):
    """A place in the graph where a gradient arrives; `clew.autograd.grad` takes it for a tensor.

    Args:
        node: the node that takes the gradient
        output_nr: which of its outputs the gradient is of
        ownership_token: unused; PyTorch keeps the node alive with it

    Example:
        >>> x = clew.ones(2, requires_grad=True)
        >>> edge = clew.autograd.graph.get_gradient_edge(x * 2)
        >>> edge.node.name(), edge.output_nr
        ('MulBackward0', 0)
    """

    node: Node
    output_nr: int
    ownership_token: Any = None


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The edge that a gradient for this tensor would travel along.

    Args:
        tensor: a tensor that requires a gradient

    Example:
        >>> x = clew.tensor(3., requires_grad=True)
        >>> y = x * 2
        >>> edge = clew.autograd.graph.get_gradient_edge(y)
        >>> clew.autograd.grad(y**2, edge)  # by y, without holding y
        (tensor(12.),)
    """
    edge = live_edge(tensor)
    if edge is None:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require "
            "gradients"
        )
    if isinstance(edge[0], Nowhere):
        raise AssertionError("Expected gradient function to be set" + errors.at_user_line())
    return GradientEdge(*edge)


def increment_version(tensor: Tensor | Sequence[Tensor]) -> None:
    """Note that a tensor's memory was written to by other means.

    Backward then knows that a saved tensor has changed.

    Args:
        tensor: the tensor, or several

    Example:
        >>> x = clew.ones(2)
        >>> clew.autograd.graph.increment_version(x)
        >>> x._version
        1
    """
    for each in [tensor] if isinstance(tensor, Tensor) else tensor:
        bump_version(each, "increment_version")


IN_TRANSFORM = (
    "torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks.\n  Call the "
    "transform outside of the hooks, and use none in the function."
)


class saved_tensors_hooks:
    """Inside, each tensor saved for backward passes through `pack_hook`, and later back.

    Args:
        pack_hook: takes a tensor when it is saved; what it returns is kept instead
        unpack_hook: takes what was kept when backward needs it; returns the tensor

    Example:
        >>> x = clew.tensor([1., 2.], requires_grad=True)
        >>> pack, unpack = lambda t: t.to(clew.bfloat16), lambda kept: kept.float()
        >>> with clew.autograd.graph.saved_tensors_hooks(pack, unpack):
        ...     y = x.exp().sum()
        >>> y.backward()
        >>> x.grad  # half the memory, but three digits
        tensor([2.7188, 7.3750])
    """

    def __init__(
        self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]
    ) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    # Whether what comes back has the history and the tangents that a transform needs.
    suits_transforms = False

    def __enter__(self) -> Any:
        state = local.state
        refusal = state.saved_hooks_disabled
        if refusal is not None and not (refusal is IN_TRANSFORM and self.suits_transforms):
            raise RuntimeError(refusal)
        pair = (self.pack_hook, self.unpack_hook)
        state.saved_hooks = (*state.saved_hooks, Suited(pair) if self.suits_transforms else pair)

    @uninterrupted
    def __exit__(self, *exc: object) -> None:
        state = local.state
        state.saved_hooks = state.saved_hooks[:-1]

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self.pack_hook, self.unpack_hook):
                return function(*args, **kwargs)

        return wrapped


class save_on_cpu(saved_tensors_hooks):
    """Keep saved tensors in main memory. For tensors that are there already, they are copied.

    Args:
        pin_memory: accepted; pinned memory is for copies to a GPU
        device_type: accepted; where tensors would come from

    Example:
        >>> x = clew.tensor([1., 2.], requires_grad=True)
        >>> with clew.autograd.graph.save_on_cpu():
        ...     y = (x**2).sum()
        >>> y.backward()
        >>> x.grad
        tensor([2., 4.])
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(lambda tensor: tensor.detach().clone(), lambda packed: packed)
        self._arguments = (pin_memory, device_type)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with save_on_cpu(*self._arguments):
                return function(*args, **kwargs)

        return wrapped


class Suited(tuple[Any, Any]):
    """A pair of hooks that work inside of transforms."""


class disable_saved_tensors_hooks(_Mode):
    """Inside, entering `saved_tensors_hooks` raises `error_message`.

    Args:
        error_message: what the RuntimeError says

    Example:
        >>> from clew.autograd.graph import disable_saved_tensors_hooks, save_on_cpu
        >>> with disable_saved_tensors_hooks("not here"), save_on_cpu():
        ...     pass
        Traceback (most recent call last):
        ...
        RuntimeError: not here
    """

    def __init__(self, error_message: str) -> None:
        self.error_message = error_message
        self._before: Any = None

    def __enter__(self) -> None:
        state = local.state
        suited = self.error_message is IN_TRANSFORM and all(
            isinstance(pair, Suited) for pair in state.saved_hooks
        )
        if state.saved_hooks and not suited:
            raise RuntimeError(self.error_message)
        self._before = state.saved_hooks_disabled, self._before
        state.saved_hooks_disabled = self.error_message

    @uninterrupted
    def __exit__(self, *exc: object) -> None:
        local.state.saved_hooks_disabled, self._before = self._before


class _MultiHandle(RemovableHandle):
    """Removes several hooks at once."""

    def __init__(self, handles: Sequence[RemovableHandle]) -> None:
        self.handles = tuple(handles)

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()


def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[..., None], *, mode: str = "all"
) -> RemovableHandle:
    """Call `fn` when gradients of all (or of any) of these tensors have been computed.

    With mode "all", `fn(grads)` gets a list with None for tensors that had no gradient in this
    backward. With mode "any", `fn(grad)` is called once per backward, with the first gradient.

    Args:
        tensors: tensors that require a gradient
        fn: the function; what it returns is ignored
        mode: "all" or "any"

    Example:
        >>> a, b = clew.ones(1, requires_grad=True), clew.ones(1, requires_grad=True)
        >>> handle = clew.autograd.graph.register_multi_grad_hook((a, b), print)
        >>> (a + 2 * b).backward()
        [tensor([1.]), tensor([2.])]
        >>> handle.remove()
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    if mode == "all" and not all(tensor.requires_grad for tensor in tensors):
        raise AssertionError("Expected gradient function to be set" + errors.at_user_line())
    watch = _AllGrads(tensors, fn) if mode == "all" else _AnyGrad(fn)
    return _MultiHandle(
        [
            tensor.register_hook(watch.hook(index))
            for index, tensor in enumerate(tensors)
            if tensor.requires_grad
        ]
    )


class _AllGrads:
    """Counts the gradients of one backward, and reports when the last one has come."""

    def __init__(self, tensors: Sequence[Tensor], fn: Callable[..., None]) -> None:
        self.fn = fn
        self.lock = add_lock(self, "lock", threading.Lock)
        self.size = len(tensors)
        # Weakly: the nodes hold the hooks, and the hooks hold this.
        self.nodes = [weakref.ref(get_gradient_edge(tensor).node) for tensor in tensors]
        # Gradients seen so far, by backward run.
        self.seen: dict[Any, list[Tensor | None]] = {}

    def hook(self, index: int) -> Callable[[Tensor], None]:
        def on_grad(grad: Tensor) -> None:
            run = local.state.backward_runs[-1]
            with self.lock:
                grads = self.seen.setdefault(run, [None] * self.size)
                grads[index] = grad
                expected = sum(run.will_reach(node()) for node in self.nodes)
                done = sum(g is not None for g in grads) == expected
                if done:
                    del self.seen[run]
            if done:
                self.fn(grads)

        return on_grad


class _AnyGrad:
    """Reports the first gradient of each backward."""

    def __init__(self, fn: Callable[..., None]) -> None:
        self.fn = fn
        self.runs: weakref.WeakSet[Any] = weakref.WeakSet()

    def hook(self, index: int) -> Callable[[Tensor], None]:
        def on_grad(grad: Tensor) -> None:
            run = local.state.backward_runs[-1]
            if run not in self.runs:
                self.runs.add(run)
                self.fn(grad)

        return on_grad


class _Handle:
    """Stands for one version of a saved tensor."""

    __slots__ = ("__weakref__",)


class _MutationGuard(saved_tensors_hooks):
    """Copies saved tensors just before their memory is overwritten."""

    def __init__(self) -> None:
        super().__init__(self._pack, self._unpack)
        # What stands behind the handles that nodes keep: the tensor, or its copy after a write.
        self.original: weakref.WeakKeyDictionary[_Handle, Tensor] = weakref.WeakKeyDictionary()
        self.cloned: weakref.WeakKeyDictionary[_Handle, Tensor] = weakref.WeakKeyDictionary()
        # The handles by array and version, and the same for each storage.
        self.tid_to_weakhandle: weakref.WeakValueDictionary[Any, _Handle] = (
            weakref.WeakValueDictionary()
        )
        self.sid_to_tid: dict[int, set[Any]] = {}

    def _pack(self, tensor: Tensor) -> _Handle:
        storage = tensor._storage
        key = id(tensor._array), storage.version
        handle = self.tid_to_weakhandle.get(key)
        if handle is None:
            handle = self.tid_to_weakhandle[key] = _Handle()
            self.original[handle] = tensor.detach()
            self.sid_to_tid.setdefault(id(storage), set()).add(key)
        return handle

    def _unpack(self, handle: _Handle) -> Tensor:
        found = self.cloned.get(handle)
        if found is None:
            found = self.original.get(handle)
        if found is None:
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in "
                "which the graph was originally recorded."
            )
        return found

    def before_write(self, target: Tensor) -> None:
        for key in self.sid_to_tid.pop(id(target._storage), ()):
            handle = self.tid_to_weakhandle.pop(key, None)
            if handle is not None:
                self.cloned[handle] = self.original.pop(handle).clone()

    def of_kernels(self) -> Any:
        return self

    def clear(self) -> None:
        self.original.clear()
        self.cloned.clear()
        self.tid_to_weakhandle.clear()
        self.sid_to_tid.clear()

    def __enter__(self) -> Any:
        state = local.state
        if state.mutation_guard is not None:
            raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
        super().__enter__()
        state.mutation_guard = self
        return self

    @uninterrupted
    def __exit__(self, *exc: object) -> None:
        state = local.state
        state.mutation_guard = None
        state.saved_hooks = state.saved_hooks[:-1]
        self.clear()


def allow_mutation_on_saved_tensors() -> _MutationGuard:
    """Inside, tensors saved for backward may be overwritten: they are copied before the write.

    Example:
        >>> x = clew.tensor([1., 2.], requires_grad=True)
        >>> with clew.autograd.graph.allow_mutation_on_saved_tensors():
        ...     y = x.clone()
        ...     z = (y**2).sum()
        ...     _ = y.zero_()  # elsewhere, backward would now raise
        ...     z.backward()
        >>> x.grad
        tensor([2., 4.])
    """
    return _MutationGuard()
