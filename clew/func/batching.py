"""vmap: a function of one example as a function of many."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from clew import errors
from clew.core.tensor import Tensor
from clew.func.trees import Spec, broadcast, flatten, unflatten
from clew.ops.batching.level import Batching, running
from clew.ops.batching.tensor import BatchedTensor, Given
from clew.ops.create.random import default_generator
from clew.ops.shape.joining import cat

Dims = int | tuple[Any, ...] | None
RANDOMNESS = ("error", "different", "same")


def vmap(
    func: Callable[..., Any],
    in_dims: Dims = 0,
    out_dims: Dims = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """`func`, applied to all examples at once: operations run on them together.

    Args:
        func: a function of one example
        in_dims: for each argument (or part of one) which dimension counts the examples, None where
            all share it
        out_dims: where that dimension goes in the results
        randomness: whether random operations raise ("error"), or give each example "different"
            numbers or the "same"
        chunk_size: how many examples run together at most; by default, all

    Example:
        >>> dot = clew.vmap(clew.dot, in_dims=(0, None))
        >>> dot(clew.eye(3), clew.tensor([1., 2., 3.]))
        tensor([1., 2., 3.])
    """
    if randomness not in RANDOMNESS:
        raise RuntimeError(
            f"Only allowed values for randomness are 'error', 'different', or 'same'. Got "
            f"{randomness}" + errors.at_user_line()
        )
    if chunk_size is not None and chunk_size < 1:
        raise ValueError(
            f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})"
            + errors.at_user_line()
        )

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        size, dims, leaves, spec = _read_inputs(args, in_dims, func)
        call = _Vmap(func, out_dims, randomness, kwargs, spec)
        if chunk_size is None or size <= chunk_size:
            results, out_spec, _ = call.run(size, dims, leaves)
            return unflatten(results, out_spec)
        return call.run_in_chunks(size, dims, leaves, chunk_size)

    return wrapped


def examples(args: tuple[Any, ...], in_dims: Dims, func: Callable[..., Any]) -> int:
    """How many examples a call of `vmap(func, in_dims)` has."""
    return _read_inputs(args, in_dims, func)[0]


def name_of(func: Any) -> str:
    return str(getattr(func, "__name__", repr(func)))


def _read_inputs(
    args: tuple[Any, ...], in_dims: Any, func: Any
) -> tuple[int, list[Any], list[Any], Spec]:
    """The number of examples, and for each leaf of the arguments its dimension of examples."""
    what = f"vmap({name_of(func)}, in_dims={in_dims}, ...)(<inputs>)"
    if not isinstance(in_dims, int | tuple):
        raise ValueError(
            f"{what}: expected `in_dims` to be int or a (potentially nested) tuple matching the "
            f"structure of inputs, got: {type(in_dims)}." + errors.at_user_line()
        )
    if not args:
        raise ValueError(
            f"vmap({name_of(func)})(<inputs>): got no inputs. Maybe you forgot to add inputs, or "
            "you are trying to vmap over a function with no inputs. The latter is unsupported."
            + errors.at_user_line()
        )
    leaves, spec = flatten(args)
    dims = broadcast(in_dims, spec)
    if dims is None:
        raise ValueError(
            f"{what}: in_dims is not compatible with the structure of `inputs`. in_dims has "
            f"structure {flatten(in_dims)[1]} but inputs has structure {spec}."
            + errors.at_user_line()
        )
    dims = [_checked_dim(leaf, dim, what) for leaf, dim in zip(leaves, dims, strict=True)]
    sizes = [
        leaf._array.shape[dim] for leaf, dim in zip(leaves, dims, strict=True) if dim is not None
    ]
    if not sizes:
        raise ValueError(
            "vmap: Expected at least one Tensor to vmap over\n  Every entry of in_dims is None: "
            f"{in_dims}" + errors.at_user_line()
        )
    if len(set(sizes)) != 1:
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{sizes} for the mapped dimension" + errors.at_user_line()
        )
    return sizes[0], dims, leaves, spec


def _checked_dim(leaf: Any, dim: Any, what: str) -> int | None:
    if dim is None:
        return None
    if not isinstance(dim, int):
        raise ValueError(
            f"{what}: Got in_dim={dim} for an input but in_dim must be either an integer dimension "
            "or None." + errors.at_user_line()
        )
    if not isinstance(leaf, Tensor):
        raise ValueError(
            f"{what}: Got in_dim={dim} for an input but the input is of type {type(leaf)}. We "
            "cannot vmap over non-Tensor arguments, please use None as the respective in_dim"
            + errors.at_user_line()
        )
    rank = leaf._array.ndim
    if not -rank <= dim < rank:
        raise ValueError(
            f"{what}: Got in_dim={dim} for some input, but that input is a Tensor of "
            f"dimensionality {rank} so expected in_dim to satisfy -{rank} <= in_dim < {rank}."
            + errors.at_user_line()
        )
    return dim % rank


class _Vmap:
    """One call of a function made by vmap."""

    def __init__(
        self, func: Any, out_dims: Dims, randomness: str, kwargs: dict[str, Any], spec: Spec
    ) -> None:
        self.func = func
        self.out_dims = out_dims
        self.randomness = randomness
        self.kwargs = kwargs
        self.spec = spec

    def run(
        self, size: int, dims: Sequence[Any], leaves: Sequence[Any]
    ) -> tuple[list[Any], Spec, list[Any]]:
        """The leaves of the result, its structure, and where the examples are in each."""
        with running(size, self.randomness) as level:
            lifted = [lift(level, *pair) for pair in zip(leaves, dims, strict=True)]
            result = self.func(*unflatten(lifted, self.spec), **self.kwargs)
            outs, spec = flatten(result)
            places = self.places(outs, spec)
        return (
            [self.lowered(level, out, place) for out, place in zip(outs, places, strict=True)],
            spec,
            places,
        )

    def places(self, outs: list[Any], spec: Spec) -> list[Any]:
        if not all(each is None or isinstance(each, int) for each in flatten(self.out_dims)[0]):
            raise ValueError(
                f"vmap({name_of(self.func)}, ..., out_dims={self.out_dims}): `out_dims` must be an "
                "int, None or a python collection of ints representing where in the outputs the "
                "vmapped dimension should appear." + errors.at_user_line()
            )
        places = broadcast(self.out_dims, spec)
        if places is None and spec.is_leaf() and isinstance(self.out_dims, tuple):
            places = list(self.out_dims) if len(self.out_dims) == 1 else None
        if places is None:
            raise ValueError(
                f"vmap({name_of(self.func)}, ..., out_dims={self.out_dims})(<inputs>): out_dims is "
                f"not compatible with the structure of `outputs`. out_dims has structure "
                f"{flatten(self.out_dims)[1]} but outputs has structure {spec}."
                + errors.at_user_line()
            )
        for out, place in zip(outs, places, strict=True):
            if place is not None and not isinstance(out, Tensor):
                raise ValueError(
                    f"vmap({name_of(self.func)}, ...): `{name_of(self.func)}` must only return "
                    f"Tensors, got type {type(out)}. Did you mean to set out_dims= to None for "
                    "output?" + errors.at_user_line()
                )
        return places

    def lowered(self, level: Batching, out: Any, place: int | None) -> Any:
        """A result outside of vmap, with the examples where `out_dims` wants them."""
        if place is None:
            if level.is_batched(out):
                raise ValueError(
                    f"vmap({name_of(self.func)}, ...): `{name_of(self.func)}` can not return a "
                    "BatchedTensor when out_dim is None" + errors.at_user_line()
                )
            return level.lower(out)
        given = level.given(out)
        if given.dim is not None and place in (given.dim, given.dim - given.tensor._array.ndim):
            return given.tensor
        physical = level.result(out)
        return physical.movedim(0, place) if place else physical

    def run_in_chunks(
        self, size: int, dims: Sequence[Any], leaves: Sequence[Any], chunk_size: int
    ) -> Any:
        parts: list[list[Any]] = []
        state = default_generator.get_state() if self.randomness == "same" else None
        for start in range(0, size, chunk_size):
            if state is not None:
                default_generator.set_state(state)
            count = min(chunk_size, size - start)
            chunk = [
                leaf if dim is None else leaf.narrow(dim, start, count)
                for leaf, dim in zip(leaves, dims, strict=True)
            ]
            outs, spec, places = self.run(count, dims, chunk)
            parts.append(outs)
        joined = [
            column[0] if place is None else cat(column, place)
            for column, place in zip(zip(*parts, strict=True), places, strict=True)
        ]
        return unflatten(joined, spec)


def lift(level: Batching, leaf: Any, dim: int | None) -> Any:
    """An argument as one example sees it."""
    if dim is None:
        return leaf
    if not dim:
        return level.lift(leaf)
    with level.outside():
        physical = leaf.movedim(dim, 0)
    lifted = level.lift(physical)
    lifted._given = Given(leaf, dim)
    return lifted


def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """The tensor of all examples behind one that is seen inside vmap, for looking at it.

    Args:
        tensor: a tensor inside vmap
        recurse: look through all levels of vmap, not only the innermost

    Example:
        >>> def show(x):
        ...     print(x.shape, clew.func.debug_unwrap(x).shape)
        ...     return x
        >>> _ = clew.vmap(show)(clew.zeros(4, 3))
        torch.Size([3]) torch.Size([4, 3])
    """
    while isinstance(tensor, BatchedTensor):
        given = tensor._given
        tensor = tensor._physical if given is None else given.tensor
        if not recurse:
            break
    return tensor
