"""Watching a program: what the engine and the library tell an observer, and to whom.

The engine knows nobody who watches. It calls the methods of the installed `Observer`, if there is
one, at the places where something happens; nothing is replaced, and without an observer a place
costs one look at `active.observer`. A tool (the doctor, `clew graph`) derives from `Observer`,
writes the methods that it cares for, and installs itself.

An observer looks on. It must not raise (what it raises reaches the program: an `Exception` of its
own is for itself to catch), must not write to what it is shown, and must not keep it alive.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from clew.forking import add_lock

if TYPE_CHECKING:
    import numpy as np

    from clew.core.no_history import NoHistory
    from clew.core.node import Edge, Node
    from clew.core.tensor import Tensor


class Observer:
    """What can be observed of a program: one method per event, which does nothing here.

    Events come in the thread in which they happen. Tensors are those of the program; `inputs` may
    hold numbers as well. While a pass is observed, its gradients are complete when they are shown:
    no product is left to another thread.
    """

    # -- operations ------------------------------------------------------------------------------

    def op_ran(
        self, op: str, inputs: tuple[Any, ...], params: Mapping[str, Any], output: Tensor
    ) -> None:
        """An operation has made a tensor; told once for each of several outputs."""

    def view_made(self, op: str, base: Tensor, output: Tensor) -> None:
        """A view operation has made a tensor that shares memory with `base`."""

    def inplace_op_ran(self, op: str, inputs: tuple[Any, ...], output: Tensor) -> None:
        """The in-place form of an operation has written to `output`."""

    def similarity_computed(self, x1: Tensor, x2: Tensor, output: Tensor) -> None:
        """`cosine_similarity` has compared two tensors, in several operations."""

    def divergence_computed(self, input: Tensor, target: Tensor) -> None:
        """`kl_div` has compared log-probabilities with probabilities, in several operations."""

    # -- histories -------------------------------------------------------------------------------

    def history_cut(self, reason: NoHistory, node: Node) -> None:
        """Something computed from the output of `node` has no history, for this reason."""

    def value_left(self, tensor: Tensor, how: str) -> None:
        """Values become Python's or NumPy's: `.item()`, `.tolist()`, `.numpy()`."""

    def memory_shared(self, array: np.ndarray) -> None:
        """`.numpy()` has given away an array over a tensor's memory."""

    def alias_made(self, tensor: Tensor, alias: Tensor) -> None:
        """`.detach()` or `.data` has made a tensor over the same memory."""

    def data_set(self, tensor: Tensor, value: Tensor) -> None:
        """`tensor.data = value`: told before it is done."""

    def requires_grad_set(self, tensor: Tensor) -> None:
        """`requires_grad_(True)`: told before it is done."""

    def grad_set(self, tensor: Tensor, value: Tensor | None) -> None:
        """The program (not the library) sets `.grad`: told before it is done."""

    def grad_read(self, tensor: Tensor, grad: Tensor | None) -> None:
        """The program (not the library) has read `.grad`."""

    # -- backward --------------------------------------------------------------------------------

    def backward_begins(self, run: Any, roots: Sequence[Edge], outputs: Sequence[Any]) -> None:
        """A backward pass begins at `roots`, the edges of `outputs` (empty where not known)."""

    def backward_ends(self, run: Any, completed: bool) -> None:
        """A backward pass is over; it was not completed if something was raised."""

    def node_ran(self, node: Node, grads: Sequence[Any], results: Sequence[Any]) -> None:
        """A node has turned the gradients of its outputs into those of its inputs.

        Gradients are tensors or bare arrays, or None.
        """

    def function_backward_begins(self, node: Node) -> None:
        """The `backward` of a custom `Function` begins: what runs in it is the program's."""

    def function_backward_ends(self, node: Node) -> None:
        """The `backward` of a custom `Function` has returned or raised."""

    def saved_tensor_modified(self, node: Node, writer: str, written_at: Any) -> None:
        """Backward needs a tensor that was overwritten since `node` saved it: an error follows."""

    def saved_tensor_modified_untracked(self, node: Node, writer: str, written_at: Any) -> None:
        """The same by a write that is not counted (`.data`, NumPy): a warning follows."""

    def backward_without_history(self, output: Tensor) -> None:
        """Backward was asked of a tensor that does not require grad: an error follows."""

    def backward_twice(self, node: Node, freed_at: Any) -> None:
        """Backward needs what an earlier pass has freed: an error follows."""

    # -- optimizers ------------------------------------------------------------------------------

    def optimizer_made(self, optimizer: Any) -> None:
        """An optimizer has been given its parameters."""

    def zero_grad(self, owner: Any) -> None:
        """`zero_grad()` of an optimizer or a module: told before it is done."""

    def step_begins(self, optimizer: Any, has_closure: bool) -> None:
        """`optimizer.step()` begins, after the hooks before it."""

    def step_ends(self, optimizer: Any) -> None:
        """`optimizer.step()` is done, after the hooks behind it."""

    def step_passed(self, optimizer: Any) -> None:
        """`optimizer.step()` is done, and its engine has not looked at it."""

    def watch_resumes(self) -> None:
        """After steps that were not looked at, everything is told again."""

    def scheduler_made(self, scheduler: Any) -> None:
        """A learning-rate scheduler is being made: told before its first step."""

    def scheduler_steps(self, scheduler: Any, metrics: Any = None) -> None:
        """`scheduler.step()`, or `step(metrics)` of one that looks at a figure: told before."""

    def clipping(self, tensors: Sequence[Tensor]) -> None:
        """The gradients of these tensors are about to be clipped."""

    # -- modules ---------------------------------------------------------------------------------

    def module_made(self, module: Any) -> None:
        """`Module.__init__` has run; what the subclass adds is not there yet."""

    def module_entered(self, module: Any, args: tuple[Any, ...]) -> None:
        """A module is called."""

    def module_left(self, module: Any, output: Any) -> None:
        """A call of a module is over; `output` is None if it raised."""

    def module_mode_set(self, module: Any, training: bool) -> None:
        """`train()` or `eval()`: told before it is done."""

    def module_requires_grad_set(self, module: Any) -> None:
        """`module.requires_grad = True`, which makes an attribute and changes no parameter."""

    def parameter_made(self, parameter: Any, data: Tensor | None) -> None:
        """`nn.Parameter(data)` has made a parameter."""

    def state_dict_taken(self, module: Any, state: Any) -> None:
        """`module.state_dict()` has returned."""

    def state_dict_loaded(self, module: Any, state: Any) -> None:
        """`module.load_state_dict(state)`: told before it is done."""

    # -- data ------------------------------------------------------------------------------------

    def tensor_made(self, tensor: Tensor) -> None:
        """A function such as `tensor`, `zeros` or `randn` has made a tensor."""

    def dataset_made(self, dataset: Any) -> None:
        """A `TensorDataset`, a `Subset` or a `DataLoader` has been made."""

    def loader_begins(self, loader: Any, iterator: Any) -> None:
        """`iter(loader)`."""

    def batch_loaded(self, iterator: Any, batch: Any) -> None:
        """A loader has given a batch."""

    def worker_made(self, task: Any) -> None:
        """A loader starts a worker: `task.watchers` go with it, and see each fetch."""

    # -- checkpoints, mixed precision ------------------------------------------------------------

    def checkpoint_saved(self, block: Any, tensor: Tensor) -> None:
        """A checkpointed block would have saved this tensor."""

    def checkpoint_recomputed(self, block: Any, index: int, tensor: Tensor) -> None:
        """The second run of a checkpointed block has made its tensor number `index` again."""

    def compiled_function_called(self, name: str) -> None:
        """A compiled function is called: it runs eagerly, because somebody watches."""

    def autocast_entered(self, region: Any) -> None:
        """`with autocast(...)`."""

    def loss_scaled(self, scaler: Any) -> None:
        """`GradScaler.scale`: told before it is done."""

    def unscale_begins(self, scaler: Any, optimizer: Any) -> None:
        """A `GradScaler` begins to divide an optimizer's gradients by its scale."""

    def unscale_ends(self, scaler: Any, optimizer: Any) -> None:
        """A `GradScaler` has divided the gradients, or raised."""

    def scaler_steps(self, scaler: Any, optimizer: Any) -> None:
        """`GradScaler.step`: told before it is done."""


class Active:
    """Who watches this process, in all its threads."""

    __slots__ = ("observer",)

    def __init__(self) -> None:
        self.observer: Observer | None = None


active = Active()


# -- installing ----------------------------------------------------------------------------------


class _Several(Observer):
    """Tells each of several observers, in the order in which they came."""

    def __init__(self, observers: tuple[Observer, ...]) -> None:
        self.observers = observers


def _to_each(name: str) -> Callable[..., None]:
    def tell(self: _Several, *args: Any) -> None:
        for observer in self.observers:
            getattr(observer, name)(*args)

    return tell


EVENTS = tuple(name for name in vars(Observer) if not name.startswith("_"))
for _name in EVENTS:
    setattr(_Several, _name, _to_each(_name))

_installed: list[Observer] = []
_lock = add_lock(sys.modules[__name__], "_lock", threading.Lock)


def install(observer: Observer) -> None:
    """Let an observer see what every thread does from now on, beside those that already do."""
    with _lock:
        _installed.append(observer)
        _activate()


def remove(observer: Observer) -> None:
    """End what `install` began; nothing happens if this observer does not watch."""
    with _lock:
        if observer in _installed:
            _installed.remove(observer)
        _activate()


def _activate() -> None:
    if len(_installed) > 1:
        active.observer = _Several(tuple(_installed))
    else:
        active.observer = _installed[0] if _installed else None


@contextmanager
def observing(observer: Observer) -> Iterator[None]:
    """While this holds, an observer sees what happens."""
    install(observer)
    try:
        yield
    finally:
        remove(observer)


def _forget() -> None:
    """In a forked process nobody asks for what would be seen: a loader's worker is not watched."""
    _installed.clear()
    active.observer = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
