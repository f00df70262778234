"""One forward pass of a module that is exported."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from clew.core.tensor import Tensor
from clew.export.graph_signature import InputKind
from clew.export.recording import Recorder, Ref
from clew.nn.modules.module import Module
from clew.random import fork_rng
from clew.utils._pytree import tree_flatten, tree_map_only


class Run:
    """One forward pass with what it called; buffers of the module are as before afterwards."""

    def __init__(self, model: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.recorder = Recorder()
        self.names: dict[int, tuple[InputKind, str]] = {}
        with _own_buffers(model) as own, fork_rng(devices=[]):
            for kind, tensors in _tensors_of(model):
                for name, tensor in tensors:
                    self.names[self.recorder.add(tensor).number] = (kind, name)
            # The program may write to its inputs.
            args, kwargs = tree_map_only(Tensor, _copied, (args, kwargs))
            leaves, self.in_spec = tree_flatten((args, kwargs))
            self.inputs = [
                self.recorder.add(leaf) if isinstance(leaf, Tensor) else leaf for leaf in leaves
            ]
            with self.recorder, _noting_modules(model, self.recorder):
                result = model(*args, **kwargs)
                for module, name, buffer in own:
                    # The program put another tensor in a buffer's place.
                    if module._buffers[name] is not buffer:
                        buffer.copy_(module._buffers[name])
            outputs, self.out_spec = tree_flatten(result)
            self.outputs = [
                self.recorder.ref(each) if isinstance(each, Tensor) else each for each in outputs
            ]

    def tensor(self, ref: Ref) -> Tensor:
        return self.recorder.tensors[ref.number]


@contextlib.contextmanager
def _noting_modules(model: Module, recorder: Recorder) -> Iterator[None]:
    """Let a recorder know which submodules are running."""
    handles = []
    for name, module in model.named_modules():
        before: list[dict[str, Any]] = []

        def enter(m: Module, args: Any, name: str = name, before: Any = before) -> None:
            before.append(recorder.module_stack)
            recorder.module_stack = {**recorder.module_stack, name: (name, type(m))}

        def leave(m: Module, args: Any, result: Any, before: Any = before) -> None:
            recorder.module_stack = before.pop()

        if module is not model:
            handles.append(module.register_forward_pre_hook(enter))
            handles.append(module.register_forward_hook(leave, always_call=True))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _copied(tensor: Tensor) -> Tensor:
    return tensor.detach().clone().requires_grad_(tensor.requires_grad)


def _tensors_of(model: Module) -> Any:
    yield InputKind.PARAMETER, list(model.named_parameters(remove_duplicate=False))
    yield InputKind.BUFFER, list(model.named_buffers(remove_duplicate=False))


@contextlib.contextmanager
def _own_buffers(model: Module) -> Iterator[list[tuple[Module, str, Tensor]]]:
    """Copies in place of a module's buffers, which the run may write to; yields them."""
    before = [(each, dict(each._buffers)) for each in model.modules()]
    copies: dict[int, Tensor] = {}
    own: list[tuple[Module, str, Tensor]] = []
    for module, buffers in before:
        for name, buffer in buffers.items():
            if buffer is not None:
                copied = copies.setdefault(id(buffer), buffer.detach().clone())
                module._buffers[name] = copied
                own.append((module, name, copied))
    try:
        yield own
    finally:
        for module, buffers in before:
            module._buffers.update(buffers)
