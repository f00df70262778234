"""Custom functions inside vmap: by their own `vmap` rule, or by one that is generated.

A generated rule is another custom function, of all examples at once: its forward runs the original
forward inside a vmap, and its backward the original backward.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from clew import errors
from clew.core.tensor import Tensor
from clew.ops.batching.level import Batching, innermost, running
from clew.ops.batching.rules import front
from clew.ops.define import vmap_errors

if TYPE_CHECKING:
    from clew.autograd.function import Function

Dims = tuple[int | None, ...]


class VmapInfo(NamedTuple):
    """What a function's `vmap` is told about the call."""

    batch_size: int
    randomness: str


def belongs_to(level: Batching, args: Any) -> bool:
    """Whether there is a tensor of a vmap among arguments, or in containers among them."""
    children = _children(args)
    if children is None:
        return level.owns(args)
    return any([belongs_to(level, child) for child in children])


def _children(value: Any) -> list[Any] | None:
    """The parts of a container; None for anything else."""
    if isinstance(value, dict):
        return list(value.values())
    return list(value) if isinstance(value, tuple | list) else None


def _rebuilt(value: Any, children: list[Any]) -> Any:
    """A container like another one, with other parts."""
    if isinstance(value, dict):
        return dict(zip(value, children, strict=True))
    if hasattr(value, "_fields"):
        return type(value)(*children)
    return type(value)(children)


def _mapped(function: Callable[..., Any], value: Any, *others: Any) -> Any:
    """A function of the leaves of containers that are alike."""
    children = _children(value)
    if children is None:
        return function(value, *others)
    columns = zip(children, *[_children(other) or () for other in others], strict=True)
    return _rebuilt(value, [_mapped(function, *column) for column in columns])


def run_batched(
    level: Batching, function: type[Function], base: type[Function], args: tuple[Any, ...]
) -> Any:
    """The outputs of a custom function whose arguments belong to a vmap."""
    with level.outside():
        if function.vmap is not base.vmap and belongs_to_examples(level, args):
            info = VmapInfo(level.size, level.randomness)
            output, dims = _own_rule(function, info, level, args)
            output = _mapped(_in_front, output, dims)
        else:
            physical = [level.lower(value) for value in args]
            in_dims: Dims = tuple(0 if level.is_batched(value) else None for value in args)
            if all(dim is None for dim in in_dims):
                output = function.apply(*physical)
                dims = _everywhere(None, output)
            elif function.generate_vmap_rule:
                output = _generated(function, base, level, in_dims).apply(*physical)
                dims = _everywhere(0, output)
            else:
                raise vmap_errors.function_without_vmap(function)
    return _mapped(
        lambda out, dim: level.lift(out, dim is not None) if isinstance(out, Tensor) else out,
        output, dims,
    )  # fmt: skip


def belongs_to_examples(level: Batching, args: Any) -> bool:
    children = _children(args)
    if children is None:
        return level.is_batched(args)
    return any([belongs_to_examples(level, child) for child in children])


def _everywhere(dim: int | None, output: Any) -> Any:
    """One dimension for all outputs."""
    return _mapped(lambda _: dim, output)


def _in_front(out: Any, dim: int | None) -> Any:
    return out.movedim(dim, 0) if isinstance(out, Tensor) and dim else out


def _own_rule(
    function: type[Function], info: VmapInfo, level: Batching, args: tuple[Any, ...]
) -> tuple[Any, Any]:
    """What a function's own `vmap` returns: the outputs, and for each the dimension of examples."""
    if function.generate_vmap_rule:
        raise RuntimeError(
            f"You tried to vmap over {function.__name__}, but it has both generate_vmap_rule=True "
            "and an overridden vmap staticmethod. Please set generate_vmap_rule=False or delete "
            "the overridden vmap staticmethod to avoid ambiguity." + errors.at_user_line()
        )
    in_dims = _mapped(lambda value: level.given(value).dim, args)
    result = function.vmap(info, in_dims, *_mapped(lambda value: level.given(value).tensor, args))
    if not (isinstance(result, tuple) and len(result) == 2):
        found = f"{len(result)} returns" if isinstance(result, tuple) else f"a {type(result)}"
        raise RuntimeError(
            f"Expected the vmap staticmethod to have two returns, an output and out_dims with "
            f"pytree structure compatible with the output. Got {found} instead\n  From "
            f"{function.__name__}.vmap" + errors.at_user_line()
        )
    output, out_dims = result
    dims = _spread(out_dims, output)
    if dims is NotImplemented:
        raise RuntimeError(
            "The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) "
            f"tuple. Expected out_dims={out_dims} to be compatible with the structure of `output`."
            f"\n  {function.__name__}.vmap returned {_described(output)}; out_dims may be one "
            "number (or None) for all outputs, or a container like it." + errors.at_user_line()
        )
    return output, dims


def _described(output: Any) -> str:
    children = _children(output)
    if children is None:
        return f"a {type(output).__name__}"
    return f"a {type(output).__name__} of {len(children)}"


def _spread(dims: Any, output: Any) -> Any:
    """A dimension for each output; NotImplemented where the two do not fit."""
    wanted = _children(dims)
    if wanted is None:
        return _everywhere(dims, output)
    children = _children(output)
    if children is None or type(dims) is not type(output) or len(wanted) != len(children):
        return NotImplemented
    parts = [_spread(*pair) for pair in zip(wanted, children, strict=True)]
    return NotImplemented if any(p is NotImplemented for p in parts) else _rebuilt(output, parts)


def refuse_keyword_tensors(signature: Any, kwargs: dict[str, Any]) -> None:
    """Tensors that only have a name have no dimension of examples."""
    by_name = {
        name: kwargs[name]
        for name, parameter in signature.parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY and isinstance(kwargs.get(name), Tensor)
    }
    if by_name and innermost() is not None:
        raise NotImplementedError(
            "Run vmap on autograd.Function with kwarg-only Tensor args. Please do not pass "
            f"kwarg-only Tensors to autograd.Function. Got: {sorted(by_name)}"
            + errors.at_user_line()
        )


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
