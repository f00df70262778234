"""Full backward hooks: gradients of a module's inputs and outputs, seen and replaced."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from clew.autograd.function import Function
from clew.core.state import local
from clew.core.tensor import Tensor

if TYPE_CHECKING:
    from clew.nn.modules.module import Module

Hook = Callable[..., Any]


class BackwardHookFunction(Function):
    """Hands tensors through, so that one node has the gradients of all of them."""

    @staticmethod
    def forward(*tensors: Tensor) -> tuple[Tensor, ...]:
        return tensors

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: tuple[Tensor, ...]) -> None:
        ctx.mark_non_differentiable(*[each for each in inputs if not each.requires_grad])

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        return grads


class BackwardHook:
    """Watches one call of a module: a node before its inputs, a node behind its outputs."""

    def __init__(self, module: Module, hooks: list[Hook], pre_hooks: list[Hook]) -> None:
        self.module = module
        self.hooks = hooks
        self.pre_hooks = pre_hooks
        self.grad_outputs: tuple[Any, ...] | None = None
        self.input_count = self.output_count = 0
        self.input_places: list[int] | None = None
        self.output_places: list[int] | None = None

    def watch_inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments, with the node behind which a gradient has left the module."""
        self.input_count = len(args)
        watched, self.input_places, node = _through_one_node(args)
        if node is not None:
            node.register_hook(self._on_grad_input)
        return watched

    def watch_outputs(self, outputs: Any) -> Any:
        """The outputs, with the node at which a gradient enters the module."""
        if not isinstance(outputs, (Tensor, tuple)):
            warnings.warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of "
                f"Tensors but received {type(outputs)}",
                stacklevel=5,
            )
        as_tuple = outputs if isinstance(outputs, tuple) else (outputs,)
        self.output_count = len(as_tuple)
        watched, self.output_places, node = _through_one_node(as_tuple)
        if node is not None:
            node.register_prehook(self._on_grad_output)
        return watched if isinstance(outputs, tuple) else watched[0]

    def _on_grad_input(self, grads: tuple[Any, ...], _: Any) -> Any:
        if self.grad_outputs is None:
            # The gradient went past the module's outputs: there is nothing to show a hook.
            return None
        assert self.input_places is not None
        grad_input = _spread(grads, self.input_places, self.input_count)
        for hook in self.hooks:
            answer = hook(self.module, grad_input, self.grad_outputs)
            grad_input = _replaced(grad_input, answer, "Backward hook", "grad_input")
        self.grad_outputs = None
        return _picked(grad_input, self.input_places)

    def _on_grad_output(self, grads: tuple[Any, ...]) -> Any:
        assert self.output_places is not None
        grad_output = _spread(grads, self.output_places, self.output_count)
        for hook in self.pre_hooks:
            answer = hook(self.module, grad_output)
            grad_output = _replaced(grad_output, answer, "Backward pre hook", "grad_output")
        self.grad_outputs = grad_output
        if self.input_places is None:
            self._run_without_grad_input(grad_output)
        return _picked(grad_output, self.output_places) if self.pre_hooks else None

    def _run_without_grad_input(self, grad_output: tuple[Any, ...]) -> None:
        if self.hooks:
            warnings.warn(
                "Full backward hook is firing when gradients are computed with respect to module "
                "outputs since no inputs require gradients. See "
                "https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html"
                "#torch.nn.Module.register_full_backward_hook for more details.",
                stacklevel=2,
            )
        grad_input = (None,) * self.input_count
        for hook in self.hooks:
            answer = hook(self.module, grad_input, grad_output)
            nothing = isinstance(answer, tuple) and all(each is None for each in answer)
            if answer is not None and not nothing:
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always "
                    "return None or None for all gradients."
                )
        self.grad_outputs = None


def _through_one_node(values: tuple[Any, ...]) -> tuple[tuple[Any, ...], list[int] | None, Any]:
    """The values with all tensors handed through one node; their places; the node, if any."""
    places = [place for place, value in enumerate(values) if isinstance(value, Tensor)]
    tensors = [values[place] for place in places]
    if not local.state.grad_enabled or not any(tensor.requires_grad for tensor in tensors):
        return values, None, None
    handed = BackwardHookFunction.apply(*tensors)
    node = next(tensor.grad_fn for tensor in handed if tensor.grad_fn is not None)
    result = list(values)
    for place, tensor in zip(places, handed, strict=True):
        result[place] = tensor
    # A named tuple stays one.
    made = type(values)(*result) if hasattr(values, "_fields") else tuple(result)
    return made, places, node


def _spread(grads: Sequence[Any], places: list[int], count: int) -> tuple[Any, ...]:
    """Gradients at the places of their tensors; None where there was no tensor."""
    result: list[Any] = [None] * count
    for place, grad in zip(places, grads, strict=True):
        result[place] = grad
    return tuple(result)


def _picked(grads: tuple[Any, ...], places: list[int]) -> tuple[Any, ...]:
    return tuple(grads[place] for place in places)


def _replaced(grads: tuple[Any, ...], answer: Any, who: str, what: str) -> tuple[Any, ...]:
    """The gradients, or those that a hook gives instead."""
    if answer is None:
        return grads
    given = answer if isinstance(answer, tuple) else (answer,)
    if len(given) != len(grads):
        raise RuntimeError(
            f"{who} returned an invalid number of {what}, got {len(given)}, but expected "
            f"{len(grads)}"
        )
    return given
