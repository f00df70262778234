"""Products with Jacobians by forward mode, whole Jacobians, and Hessians."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from clew import errors
from clew.autograd.forward_ad import DualLevel
from clew.core.interception import install, note_constant, remove
from clew.core.state import local
from clew.core.tensor import Tensor, wrap
from clew.func.batching import vmap
from clew.func.captures import guarded
from clew.func.gradients import (
    Argnums,
    Func,
    Linearization,
    check_tensors,
    checked_aux,
    chosen,
    replaced,
    split_aux,
)
from clew.func.trees import Spec, flatten, map_leaves, unflatten
from clew.ops.batching.tensor import BatchedTensor
from clew.ops.create.constants import zeros_like
from clew.ops.shape.joining import cat

Chunk = int | None


# -- forward mode --------------------------------------------------------------------------------


class Pushed:
    """One run of a function in forward mode: its outputs, and their tangents."""

    def __init__(
        self, func: Func, primals: tuple[Any, ...], tangents: Any, what: str, has_aux: bool,
        strict: bool = False, more: Sequence[Any] = (),
    ) -> None:  # fmt: skip
        """`more`: what else the function may write to."""
        leaves, spec = flatten(primals)
        given, tangent_spec = flatten(tangents)
        _check_structures(spec, tangent_spec)
        _check_only_tensors(what, "primals", leaves)
        _check_only_tensors(what, "tangents", given)
        level = DualLevel()
        install(level)
        state = local.state
        inference, state.inference = state.inference, False
        try:
            duals = [level.dual(leaf, tangent) for leaf, tangent in zip(leaves, given, strict=True)]
            # Who writes to a dual writes to its tangent as well.
            with guarded([*duals, *given, *more]):
                result, aux = split_aux(func(*unflatten(duals, spec)), has_aux, what)
            outs, self.spec = flatten(result)
            check_tensors(outs, what)
            found = [level.tangent(out) for out in outs]
            self.aux = map_leaves(level.without_tangent, checked_aux(aux) if has_aux else None)
            self.outs = [level.without_tangent(out) for out in outs]
        finally:
            state.inference = inference
            remove(level)
            level.close()
        self.tangents = [
            _no_tangent(out, strict, what) if tangent is None else tangent
            for out, tangent in zip(self.outs, found, strict=True)
        ]


def _no_tangent(out: Tensor, strict: bool, what: str) -> Tensor:
    if strict:
        raise RuntimeError(
            f"{what[:-1]}, strict=True): The output of f is independent of the inputs. This is not "
            "allowed with strict=True." + errors.at_user_line()
        )
    return note_constant(wrap(np.zeros(out._array.shape, out._array.dtype)))


def _check_structures(primals: Spec, tangents: Spec) -> None:
    if primals != tangents:
        raise RuntimeError(
            "jvp(f, primals, tangents): Expected primals and tangents to have the same python "
            "structure. For example, if primals is a tuple of 3 tensors, tangents also must be. "
            f"Got primals with structure {primals} and tangents with structure {tangents}"
            + errors.at_user_line()
        )


def _check_only_tensors(what: str, kind: str, leaves: Sequence[Any]) -> None:
    if not leaves:
        raise RuntimeError(
            f"{what}: Expected {kind} to contain at least one Tensor." + errors.at_user_line()
        )
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise RuntimeError(
                f"{what}: Expected {kind} to only contain Tensors, got {type(leaf)}"
                + errors.at_user_line()
            )


def jvp(
    func: Func, primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False
) -> Any:
    """The value of `func`, and the product of its Jacobian with `tangents`.

    Args:
        func: a function of tensors
        primals: the tuple of its arguments
        tangents: a tangent for each of them, of the same shape
        strict: raise if an output does not depend on the arguments, instead of giving zeros
        has_aux: `func` returns a pair of the value and something to pass on

    Example:
        >>> clew.func.jvp(clew.sin, (clew.tensor(0.),), (clew.tensor(2.),))
        (tensor(0.), tensor(2.))
    """
    what = "jvp(f, primals, tangents)"
    if not isinstance(primals, tuple):
        raise RuntimeError(
            f"{what}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals)."
            + errors.at_user_line()
        )
    pushed = Pushed(func, primals, tangents, what, has_aux, strict)
    values = unflatten(pushed.outs, pushed.spec), unflatten(pushed.tangents, pushed.spec)
    return (*values, pushed.aux) if has_aux else values


def linearize(func: Func, *primals: Any) -> tuple[Any, Func]:
    """The value of `func`, and the linear function that its Jacobian there is.

    The function runs once. A product with the Jacobian is then the transpose of the pull-back,
    which is linear in its cotangents.

    Args:
        func: a function of tensors
        primals: its arguments

    Example:
        >>> value, linear = clew.func.linearize(lambda x: x**2, clew.tensor(3.))
        >>> linear(clew.tensor(1.)), linear(clew.tensor(0.5))
        (tensor(6.), tensor(3.))
    """
    done = Linearization(func, primals, False, "linearize(f, *primals)", None)

    def jvp_fn(*tangents: Any) -> Any:
        leaves, spec = flatten(tangents)
        if spec != done.input_spec:
            raise RuntimeError(
                f"Expected the tangents {spec} to have the same argspec as the primals "
                f"{done.input_spec}" + errors.at_user_line()
            )
        for number, pair in enumerate(zip(leaves, done.inputs, strict=True)):
            _check_tangent(number, *pair)
        return unflatten(done.push_forward(leaves), done.output_spec)

    return done.value(), jvp_fn


def _check_tangent(number: int, tangent: Tensor, primal: Tensor) -> None:
    """A tangent is like its primal."""
    for name in ("shape", "dtype"):
        have, want = getattr(tangent, name), getattr(primal, name)
        if have != want:
            raise RuntimeError(
                f"tangent:{number} with {name} {have} in flattened pytree doesn't match the {name} "
                f"{want} of the corresponding primal." + errors.at_user_line()
            )


# -- jacobians -----------------------------------------------------------------------------------


def _identity_rows(tensors: Sequence[Tensor]) -> list[Tensor]:
    """For each tensor, the part of the rows of one large identity matrix that concerns it."""
    total = sum(tensor._array.size for tensor in tensors)
    rows, start = [], 0
    for tensor in tensors:
        array = tensor._array
        block = np.zeros((total, array.size), array.dtype)
        block[np.arange(start, start + array.size), np.arange(array.size)] = 1
        rows.append(note_constant(wrap(block.reshape(total, *array.shape))))
        start += array.size
    return rows


def _tangents_in_turn(primals: Sequence[Tensor]) -> list[Tensor]:
    """Rows of the identity; for an example of an outer vmap its own, which may be written to."""
    return [
        rows + zeros_like(primal) if type(primal) is BatchedTensor else rows
        for rows, primal in zip(_identity_rows(primals), primals, strict=True)
    ]


def _in_chunks(
    function: Callable[..., Any], rows: Sequence[Tensor], chunk_size: Chunk
) -> list[Tensor]:
    """The results of a function for every row, some rows at a time."""
    count = rows[0]._array.shape[0]
    if chunk_size is None or count <= chunk_size:
        return list(vmap(function)(*rows))
    parts = []
    for start in range(0, count, chunk_size):
        part = [row.narrow(0, start, min(chunk_size, count - start)) for row in rows]
        if chunk_size == 1:
            parts.append([each.unsqueeze(0) for each in function(*[row[0] for row in part])])
        else:
            parts.append(list(vmap(function)(*part)))
    return [cat(column) for column in zip(*parts, strict=True)]


def _check_chunk(chunk_size: Chunk, what: str) -> None:
    if chunk_size is not None and not (isinstance(chunk_size, int) and chunk_size > 0):
        raise ValueError(f"{what}: `chunk_size` should be greater than 0." + errors.at_user_line())


def _require_real(what: str, kind: str, tensors: Sequence[Any]) -> None:
    for number, tensor in enumerate(tensors):
        if isinstance(tensor, Tensor) and tensor.dtype.is_complex:
            raise RuntimeError(
                f"{what}: Expected all {kind} to be real but received complex tensor at flattened "
                f"input idx: {number}\n  Take derivatives by view_as_real(x)."
                + errors.at_user_line()
            )


def jacrev(
    func: Func, argnums: Argnums = 0, *, has_aux: bool = False, chunk_size: Chunk = None,
    _preallocate_and_copy: bool = False,
) -> Func:  # fmt: skip
    """A function that gives the Jacobian of `func`, by reverse mode: a row for each output.

    Args:
        func: a function of tensors
        argnums: the number of the argument to differentiate by, or several
        has_aux: `func` returns a pair of the value and something to pass on
        chunk_size: how many rows are computed together; by default, all

    Example:
        >>> clew.func.jacrev(lambda x: x.cumsum(0))(clew.zeros(3))
        tensor([[1., 0., 0.],
                [1., 1., 0.],
                [1., 1., 1.]])
    """
    _check_chunk(chunk_size, "jacrev")

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        selected = chosen(args, argnums)

        def of_selected(values: Any) -> Any:
            return func(*replaced(args, argnums, values), **kwargs)

        done = Linearization(
            of_selected, (selected,), has_aux, "vjp(f, *primals)", flatten(args)[0]
        )
        _require_real("jacrev", "inputs", done.inputs)
        _require_real("jacrev", "outputs", done.outs)
        rows = _in_chunks(
            lambda *cotangents: tuple(done.pull_back(cotangents)),
            _identity_rows(done.outs), chunk_size,
        )  # fmt: skip
        _, input_spec = flatten(selected)
        blocks = _split_rows(rows, done.outs, input_spec)
        jacobian = unflatten(blocks, done.output_spec)
        return (jacobian, done.released_aux()) if has_aux else jacobian

    return wrapper


def _split_rows(rows: list[Tensor], outs: Sequence[Tensor], inputs: Spec) -> list[Any]:
    """For each output a container like the inputs, with a block of the Jacobian for each."""
    blocks: list[Any] = []
    start = 0
    for out in outs:
        size, shape = out._array.size, out._array.shape
        parts = [
            row.narrow(0, start, size).reshape((*shape, *row._array.shape[1:])) for row in rows
        ]
        blocks.append(unflatten(parts, inputs))
        start += size
    return blocks


def jacfwd(
    func: Func, argnums: Argnums = 0, has_aux: bool = False, *, randomness: str = "error"
) -> Func:
    """A function that gives the Jacobian of `func`, by forward mode: a column for each input.

    Args:
        func: a function of tensors
        argnums: the number of the argument to differentiate by, or several
        has_aux: `func` returns a pair of the value and something to pass on
        randomness: as in `vmap`

    Example:
        >>> clew.func.jacfwd(lambda x: x**2)(clew.tensor([1., 2.]))
        tensor([[2., 0.],
                [0., 4.]])
    """

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        selected = chosen(args, argnums)
        leaves, spec = flatten(selected)
        _check_only_tensors("jacfwd(f)(*args)", "primals", leaves)
        _require_real("jacfwd", "inputs", leaves)
        seen: dict[str, Any] = {}

        def of_selected(values: Any) -> Any:
            return func(*replaced(args, argnums, values), **kwargs)

        def column(*tangents: Any) -> tuple[Any, ...]:
            given = (unflatten(tangents, spec),)
            pushed = Pushed(
                of_selected, (selected,), given, "jvp(f, primals, tangents)", has_aux,
                more=flatten(args)[0],
            )  # fmt: skip
            _require_real("jacfwd", "outputs", pushed.outs)
            seen["spec"] = pushed.spec
            seen["aux"] = flatten(pushed.aux)[1]
            return (*pushed.tangents, *(flatten(pushed.aux)[0] if has_aux else ()))

        columns = vmap(column, randomness=randomness)(*_tangents_in_turn(leaves))
        count = seen["spec"].num_leaves
        jacobian = unflatten(
            [_split_columns(each, leaves, spec) for each in columns[:count]], seen["spec"]
        )
        if not has_aux:
            return jacobian
        return jacobian, unflatten([each[0] for each in columns[count:]], seen["aux"])

    return wrapper


def _split_columns(columns: Tensor, inputs: Sequence[Tensor], spec: Spec) -> Any:
    """For one output a container like the inputs, with a block of the Jacobian for each."""
    parts, start = [], 0
    for each in inputs:
        size, shape = each._array.size, each._array.shape
        block = columns.narrow(0, start, size).movedim(0, -1)
        parts.append(block.view((*columns._array.shape[1:], *shape)))
        start += size
    return unflatten(parts, spec)


def hessian(func: Func, argnums: Argnums = 0) -> Func:
    """A function that gives the Hessian of `func`: forward mode over reverse mode.

    Args:
        func: a function of tensors
        argnums: the number of the argument to differentiate by, or several

    Example:
        >>> clew.func.hessian(lambda x: x.prod())(clew.tensor([2., 3.]))
        tensor([[0., 1.],
                [1., 0.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)
