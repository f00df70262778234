"""Which modules run at the moment, by name: forward, and in backward as well."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from clew.autograd.graph import register_multi_grad_hook
from clew.autograd.variable import Variable
from clew.core.state import local
from clew.core.tensor import Tensor
from clew.nn.modules.hooks import register_module_forward_hook, register_module_forward_pre_hook
from clew.nn.modules.module import Module
from clew.utils._pytree import tree_leaves

__all__ = ["ModuleTracker"]

_GLOBAL = "Global"


class ModuleTracker:
    """Knows, in a `with` block, the modules that are being executed.

    `parents` has their names, and "Global" always: a model by its class, what is in it by its path
    (`Net.blocks.0`). In backward, a module is entered when the gradients of its outputs are there,
    and left when those of its inputs are.

    Example:
        >>> from clew.utils.module_tracker import ModuleTracker
        >>> class Layer(nn.Linear):
        ...     def forward(self, x):
        ...         print(sorted(tracker.parents))
        ...         return super().forward(x)
        >>> with ModuleTracker() as tracker:
        ...     y = nn.Sequential(Layer(2, 2))(clew.ones(1, 2))
        ['Global', 'Sequential', 'Sequential.0']
    """

    parents: set[str]

    def __init__(self) -> None:
        self.parents = {_GLOBAL}
        self._names: weakref.WeakKeyDictionary[Module, str] = weakref.WeakKeyDictionary()
        self._handles: list[Any] = []
        self._will_reset = False

    @property
    def is_bw(self) -> bool:
        """Whether a backward pass runs in this thread."""
        return bool(local.state.backward_runs)

    def _name_of(self, module: Module) -> str:
        """The name of a module; one that is in no known model is a model itself."""
        name = self._names.get(module)
        if name is None:
            name = self._names[module] = type(module).__name__
            for path, child in module.named_modules():
                if path:
                    self._names[child] = f"{name}.{path}"
        return name

    def _before(self, module: Module, args: Any) -> None:
        name = self._name_of(module)
        self.parents.add(name)
        self._at_gradients(args, lambda *_: self.parents.discard(name))

    def _after(self, module: Module, args: Any, output: Any) -> None:
        name = self._name_of(module)
        self.parents.discard(name)

        def enter(*grads: Any) -> None:
            if not self._will_reset:
                self._will_reset = True
                Variable._execution_engine.queue_callback(self._reset)
            self.parents.add(name)

        self._at_gradients(output, enter)

    def _at_gradients(self, values: Any, hook: Callable[..., None]) -> None:
        """Have a hook called when the gradients of all tensors among some values are there."""
        tensors = [t for t in tree_leaves(values) if isinstance(t, Tensor) and t.requires_grad]
        if tensors:
            self._handles.append(register_multi_grad_hook(tensors, hook))

    def _reset(self) -> None:
        """Backward is over: modules whose inputs need no gradient were not left."""
        self.parents = {_GLOBAL}
        self._will_reset = False

    def __enter__(self) -> ModuleTracker:
        self._handles += [
            register_module_forward_pre_hook(self._before),
            register_module_forward_hook(self._after),
        ]
        return self

    def __exit__(self, *exc: object) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
