"""Custom functions inside vmap: by their own `vmap` rule, or by one that is generated.

A generated rule is another custom function, of all examples at once: its forward runs the original
forward inside a vmap, and its backward the original backward.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from clew import errors
from clew.core.tensor import Tensor
from clew.ops.batching.level import Batching, running
from clew.ops.batching.rules import front
from clew.ops.define import vmap_errors

if TYPE_CHECKING:
    from clew.autograd.function import Function

Dims = tuple[int | None, ...]


class VmapInfo(NamedTuple):
    """What a function's `vmap` is told about the call."""

    batch_size: int
    randomness: str


def run_batched(
    level: Batching, function: type[Function], base: type[Function], args: tuple[Any, ...]
) -> Any:
    """The outputs of a custom function whose arguments belong to a vmap."""
    physical = [level.lower(value) for value in args]
    in_dims: Dims = tuple(0 if level.is_batched(value) else None for value in args)
    with level.outside():
        if all(dim is None for dim in in_dims):
            output = function.apply(*physical)
            out_dims: Any = None
        elif function.vmap is not base.vmap:
            info = VmapInfo(level.size, level.randomness)
            output, out_dims = _own_rule(function, info, in_dims, physical)
        elif function.generate_vmap_rule:
            output = _generated(function, base, level, in_dims).apply(*physical)
            out_dims = 0
        else:
            raise vmap_errors.function_without_vmap(function)
        outs = output if isinstance(output, tuple) else (output,)
        places = out_dims if isinstance(out_dims, tuple) else (out_dims,) * len(outs)
        moved = [
            out.movedim(place, 0) if isinstance(out, Tensor) and place else out
            for out, place in zip(outs, places, strict=True)
        ]
    lifted = tuple(
        level.lift(out, place is not None) if isinstance(out, Tensor) else out
        for out, place in zip(moved, places, strict=True)
    )
    return lifted if isinstance(output, tuple) else lifted[0]


def _own_rule(
    function: type[Function], info: VmapInfo, in_dims: Dims, physical: Sequence[Any]
) -> tuple[Any, Any]:
    if function.generate_vmap_rule:
        raise RuntimeError(
            f"You tried to vmap over {function.__name__}, but it has both generate_vmap_rule=True "
            "and an overriden vmap staticmethod. Please set generate_vmap_rule=False or delete the "
            "overriden vmap staticmethod to avoid ambiguity." + errors.at_user_line()
        )
    result = function.vmap(info, in_dims, *physical)
    if not (isinstance(result, tuple) and len(result) == 2):
        raise RuntimeError(
            f"Expected the vmap staticmethod to have two returns, an output and out_dims with "
            f"pytree structure compatible with the output.\n  {function.__name__}.vmap returned "
            f"{type(result).__name__}" + errors.at_user_line()
        )
    return result


def _generated(
    function: type[Function], base: type[Function], outer: Batching, in_dims: Dims
) -> type[Function]:
    """A custom function that does for all examples what another does for one."""

    def inside(level: Batching, values: Sequence[Any], dims: Sequence[Any]) -> list[Any]:
        return [
            level.lift(value, dim is not None) if isinstance(value, Tensor) else value
            for value, dim in zip(values, dims, strict=True)
        ]

    def lowered(level: Batching, value: Any) -> Any:
        return level.result(value) if isinstance(value, Tensor) else value

    def forward(*args: Any) -> Any:
        with running(outer.size, outer.randomness) as level:
            output = function.forward(*inside(level, args, in_dims))
        if isinstance(output, tuple):
            return tuple(lowered(level, each) for each in output)
        return lowered(level, output)

    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        outs = output if isinstance(output, tuple) else (output,)
        with running(outer.size, outer.randomness) as level:
            ctx.inner = function._context_class()
            ctx.inner.needs_input_grad = ctx.needs_input_grad
            lifted = inside(level, outs, (0,) * len(outs))
            given = tuple(inside(level, inputs, in_dims))
            whole = tuple(lifted) if isinstance(output, tuple) else lifted[0]
            function.setup_context(ctx.inner, given, whole)
        kept = ctx.inner.to_save or ctx.inner.saved_for_forward
        ctx.dims = tuple(0 if level.is_batched(each) else None for each in kept)
        ctx.save_for_backward(*(level.lower(each) for each in kept))
        ctx.save_for_forward(*(level.lower(each) for each in kept))
        ctx.set_materialize_grads(ctx.inner.materialize_grads)
        marked = {id(each) for each in ctx.inner.non_differentiable}
        ctx.mark_non_differentiable(
            *(out for out, each in zip(outs, lifted, strict=True) if id(each) in marked)
        )

    def backward(ctx: Any, *grads: Any) -> Any:
        with running(outer.size, outer.randomness) as level:
            ctx.inner.to_save = tuple(inside(level, ctx.saved_tensors, ctx.dims))
            results = function._backward_of()(ctx.inner, *inside(level, grads, (0,) * len(grads)))
        results = results if isinstance(results, tuple) else (results,)
        return tuple(
            _for_input(level, result, dim) for result, dim in zip(results, in_dims, strict=False)
        )

    def jvp(ctx: Any, *tangents: Any) -> Any:
        with running(outer.size, outer.randomness) as level:
            ctx.inner.to_save = tuple(inside(level, ctx.saved_tensors, ctx.dims))
            results = function.jvp(ctx.inner, *inside(level, tangents, in_dims))
        if isinstance(results, tuple):
            return tuple(lowered(level, each) for each in results)
        return lowered(level, results)

    parts = (forward, setup_context, backward, jvp)
    members: dict[str, Any] = {part.__name__: staticmethod(part) for part in parts}
    # A vmap around this one batches the generated function in turn.
    members["generate_vmap_rule"] = True
    return type(f"Vmapped{function.__name__}", (base,), members)


def _for_input(level: Batching, gradient: Any, dim: int | None) -> Any:
    """A gradient in the shape of all examples, or summed over them for what they share."""
    if gradient is None:
        return None
    physical = level.lower(gradient)
    if level.is_batched(gradient):
        return physical if dim is not None else physical.sum(0)
    return front(physical, level.size) if dim is not None else physical * level.size
