"""Derivatives of functions: jacobian, hessian, and their products with vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from clew.autograd import forward_ad
from clew.autograd.backward import grad
from clew.autograd.functional_parts import (  # noqa: F401  (packages take some from here)
    _as_tuple,
    _check_independent,
    _check_used,
    _construct_standard_basis_for,
    _grad_postprocess,
    _tensors,
    _tuple_postprocess,
)
from clew.autograd.grad_mode import enable_grad
from clew.autograd.jvp import constant_of
from clew.core.tensor import Tensor, wrap
from clew.ops.batching.level import running
from clew.ops.shape.joining import stack

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

Func = Callable[..., Any]
OUTPUTS = "outputs of the user-provided function"


def _leaves(inputs: tuple[Tensor, ...], create_graph: bool) -> tuple[Tensor, ...]:
    """Inputs to differentiate by: connected to the user's graph if one is to be built."""
    if create_graph:
        return tuple(
            each.view_as(each) if each.requires_grad else each.detach().requires_grad_()
            for each in inputs
        )
    return tuple(each.detach().requires_grad_() for each in inputs)


def _run(
    func: Func, inputs: Any, create_graph: bool, function: str
) -> tuple[bool, bool, tuple[Tensor, ...], tuple[Tensor, ...]]:
    is_tuple, given = _tensors(inputs, "inputs", function)
    leaves = _leaves(given, create_graph)
    outputs = func(*leaves)
    outputs_tuple, outs = _tensors(outputs, OUTPUTS, function)
    return is_tuple, outputs_tuple, leaves, outs


def _unpack(value: tuple[Any, ...], is_tuple: bool) -> Any:
    return value if is_tuple else value[0]


def _or_zeros(value: Any, like: Tensor) -> Tensor:
    return constant_of(np.zeros_like(like._array)) if value is None else value


def _finish(value: Tensor, create_graph: bool) -> Tensor:
    return value if create_graph else value.detach()


def _grads(
    outs: Sequence[Tensor], inputs: Sequence[Tensor], v: Sequence[Any], create_graph: bool
) -> tuple[Any, ...]:
    """Gradients where there is a path; None where there is none."""
    pairs = [(o, each) for o, each in zip(outs, v, strict=True) if o.requires_grad]
    if not pairs:
        return (None,) * len(inputs)
    return grad(
        [o for o, _ in pairs], inputs, [each for _, each in pairs], allow_unused=True,
        create_graph=create_graph, retain_graph=True,
    )  # fmt: skip


def _checked_v(v: Any, like: Sequence[Tensor], what: str) -> tuple[Tensor, ...]:
    if v is None:
        if len(like) != 1 or like[0]._array.size != 1:
            raise RuntimeError(
                f"The vector v can only be None if {what} a single Tensor with a single element."
            )
        return (constant_of(np.ones_like(like[0]._array)),)
    _, given = _tensors(v, "v", what)
    if len(given) != len(like):
        if len(like) == 1:
            raise RuntimeError(
                f"The given v should contain a single Tensor.\n  It has {len(given)}."
            )
        raise RuntimeError(
            f"v is a tuple of invalid length: should be {len(like)} but got {len(given)}."
        )
    for index, (each, expected) in enumerate(zip(given, like, strict=True)):
        if each._array.shape != expected._array.shape:
            prepend = f"Entry {index} in " if len(like) > 1 else ""
            raise RuntimeError(
                f"{prepend}v has invalid size: should be {expected.shape} but got {each.shape}."
            )
    return given


def vjp(
    func: Func, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The value of `func`, and the product of `v` with its Jacobian.

    Args:
        func: a function of tensors
        inputs: the tensors, or one, to call it with
        v: one number for each output element; may be left out for a single value
        create_graph: make the results differentiable
        strict: raise if an output does not depend on an input, instead of giving zeros

    Example:
        >>> x, v = clew.tensor([1., 2.]), clew.tensor([1., 10.])
        >>> clew.autograd.functional.vjp(lambda x: x**2, x, v)
        (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    with enable_grad():
        is_tuple, outputs_tuple, leaves, outs = _run(func, inputs, create_graph, "vjp")
        _check_independent(outs, strict)
        vector = _checked_v(v, outs, "the user-provided function returns")
        found = _grads(outs, leaves, vector, create_graph)
        _check_used(found, strict, 0, create_graph)
        product = tuple(
            _finish(_or_zeros(each, leaf), create_graph)
            for each, leaf in zip(found, leaves, strict=True)
        )
    values = tuple(_finish(out, create_graph) for out in outs)
    return _unpack(values, outputs_tuple), _unpack(product, is_tuple)


def jvp(
    func: Func, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The value of `func`, and the product of its Jacobian with `v`.

    Args:
        func: a function of tensors
        inputs: the tensors, or one, to call it with
        v: one number for each input element; may be left out for a single one
        create_graph: make the results differentiable
        strict: raise if an output does not depend on an input, instead of giving zeros

    Example:
        >>> x, v = clew.tensor([1., 2.]), clew.tensor([1., 10.])
        >>> clew.autograd.functional.jvp(lambda x: x.prod(), x, v)
        (tensor(2.), tensor(12.))
    """
    with enable_grad():
        _, given = _tensors(inputs, "inputs", "jvp")
        vector = _checked_v(v, given, "the input to the user-provided function is")
        _, outputs_tuple, leaves, outs = _run(func, inputs, create_graph, "jvp")
        _check_independent(outs, strict)
        # The gradient is linear in its cotangent; its own gradient there is the product.
        seeds = tuple(constant_of(np.zeros_like(out._array)).requires_grad_() for out in outs)
        pulled = _grads(outs, leaves, seeds, create_graph=True)
        _check_used(pulled, strict, 0, create_graph)
        paths = [
            (each, t) for each, t in zip(pulled, vector, strict=True)
            if each is not None and each.requires_grad
        ]  # fmt: skip
        found: tuple[Any, ...] = (None,) * len(seeds)
        if paths:
            found = grad(
                [each for each, _ in paths], seeds, [t for _, t in paths],
                create_graph=create_graph, allow_unused=True,
            )  # fmt: skip
        product = tuple(
            _finish(_or_zeros(each, out), create_graph)
            for each, out in zip(found, outs, strict=True)
        )
    values = tuple(_finish(out, create_graph) for out in outs)
    return _unpack(values, outputs_tuple), _unpack(product, outputs_tuple)


def jacobian(
    func: Func,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The derivative of each output element by each input element.

    For one input and one output a tensor of shape output + input; otherwise tuples of those.

    Args:
        func: a function of tensors
        inputs: the tensors, or one, to call it with
        create_graph: make the result differentiable
        strict: raise if an output does not depend on an input, instead of giving zeros
        vectorize: compute all rows together, as vmap would
        strategy: "reverse-mode", or "forward-mode" for more outputs than inputs

    Example:
        >>> clew.autograd.functional.jacobian(lambda x: x**2, clew.tensor([1., 2.]))
        tensor([[2., 0.],
                [0., 4.]])
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your '
            'function has more outputs than inputs, "forward-mode" tends to be more performant. '
            'Otherwise, prefer to use "reverse-mode".'
        )
    if strict and vectorize:
        raise RuntimeError(
            "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not "
            "supported together. Please either set `strict=False` or `vectorize=False`."
        )
    if strategy == "forward-mode":
        if create_graph:
            raise NotImplementedError(
                "torch.autograd.functional.jacobian: `create_graph=True` and "
                '`strategy="forward-mode"` are not supported together (yet).\n'
                '  The default strategy, "reverse-mode", takes it.'
            )
        return _forward_jacobian(func, inputs, vectorize)
    with enable_grad():
        is_tuple, outputs_tuple, leaves, outs = _run(func, inputs, create_graph, "jacobian")
        _check_independent(outs, strict)
        rows = tuple(
            _batched_rows(out, leaves, create_graph)
            if vectorize
            else _jacobian_of_output(out, number, leaves, create_graph, strict)
            for number, out in enumerate(outs)
        )
    return _unpack(tuple(_unpack(row, is_tuple) for row in rows), outputs_tuple)


def _jacobian_of_output(
    out: Tensor, number: int, leaves: tuple[Tensor, ...], create_graph: bool, strict: bool
) -> tuple[Tensor, ...]:
    columns: list[list[Tensor]] = [[] for _ in leaves]
    for place in np.ndindex(out._array.shape):
        seed = np.zeros(out._array.shape, out._array.dtype)
        seed[place] = 1
        found = _grads([out], leaves, [constant_of(seed)], create_graph)
        _check_used(found, strict, number, create_graph)
        for column, each, leaf in zip(columns, found, leaves, strict=True):
            column.append(_finish(_or_zeros(each, leaf), create_graph))
    return tuple(
        _stacked(column, out._array.shape, leaf)
        for column, leaf in zip(columns, leaves, strict=True)
    )


def _batched_rows(
    out: Tensor, leaves: tuple[Tensor, ...], create_graph: bool
) -> tuple[Tensor, ...]:
    """The same for all elements of the output at once."""
    array = out._array
    found: tuple[Any, ...] = (None,) * len(leaves)
    if out.requires_grad and array.size:
        seeds = constant_of(np.eye(array.size, dtype=array.dtype).reshape(array.size, *array.shape))
        found = grad(
            out, leaves, seeds, allow_unused=True, create_graph=create_graph, retain_graph=True,
            is_grads_batched=True,
        )  # fmt: skip
    shapes = [(*array.shape, *leaf._array.shape) for leaf in leaves]
    return tuple(
        constant_of(np.zeros(shape, leaf._array.dtype))
        if each is None
        else _finish(each.reshape(shape), create_graph)
        for each, leaf, shape in zip(found, leaves, shapes, strict=True)
    )


def _stacked(rows: list[Tensor], shape: tuple[int, ...], leaf: Tensor) -> Tensor:
    if not rows:
        return constant_of(np.zeros((*shape, *leaf._array.shape), leaf._array.dtype))
    return stack(rows).reshape((*shape, *leaf._array.shape))


def _batched_columns(
    func: Func, given: tuple[Tensor, ...], index: int
) -> tuple[bool, tuple[Tensor, ...], list[np.ndarray]]:
    """The derivatives of all outputs by all elements of one input, in one run."""
    array = given[index]._array
    seeds = constant_of(np.eye(array.size, dtype=array.dtype).reshape(array.size, *array.shape))
    with running(array.size, is_transform=False) as level, forward_ad.dual_level():
        dual = forward_ad.make_dual(given[index].detach(), level.lift(seeds))
        args = [dual if i == index else each.detach() for i, each in enumerate(given)]
        outputs_tuple, outs = _tensors(func(*args), OUTPUTS, "jacobian")
        pairs = [forward_ad.unpack_dual(out) for out in outs]
    columns = [level.result(_or_zeros(pair.tangent, pair.primal)) for pair in pairs]
    return outputs_tuple, outs, [np.moveaxis(each._array, 0, -1) for each in columns]


def _forward_jacobian(func: Func, inputs: Any, vectorize: bool) -> Any:
    is_tuple, given = _tensors(inputs, "inputs", "jacobian")
    if vectorize:
        found = [_batched_columns(func, given, index) for index in range(len(given))]
        outputs_tuple, outs, _ = found[0]
        rows = tuple(
            tuple(
                wrap(columns[number].reshape(out._array.shape + value._array.shape))
                for (_, _, columns), value in zip(found, given, strict=True)
            )
            for number, out in enumerate(outs)
        )
        return _unpack(tuple(_unpack(row, is_tuple) for row in rows), outputs_tuple)
    by_input: list[list[list[np.ndarray]]] = []
    outputs_tuple = False
    outs = ()
    for index, value in enumerate(given):
        columns: list[list[np.ndarray]] = []
        for place in np.ndindex(value._array.shape):
            tangent = np.zeros(value._array.shape, value._array.dtype)
            tangent[place] = 1
            with forward_ad.dual_level():
                dual = forward_ad.make_dual(value.detach(), wrap(tangent))
                args = [dual if i == index else each.detach() for i, each in enumerate(given)]
                outputs_tuple, outs = _tensors(func(*args), OUTPUTS, "jacobian")
                pairs = [forward_ad.unpack_dual(out) for out in outs]
                columns.append(
                    [_or_zeros(pair.tangent, pair.primal)._array.copy() for pair in pairs]
                )
        by_input.append(columns)
    result = tuple(
        tuple(
            wrap(
                np.stack([column[number] for column in columns], axis=-1).reshape(
                    out._array.shape + value._array.shape
                )
            )
            for columns, value in zip(by_input, given, strict=True)
        )
        for number, out in enumerate(outs)
    )
    return _unpack(tuple(_unpack(row, is_tuple) for row in result), outputs_tuple)


def _scalar(func: Func, function: str) -> Func:
    """`func`, checked to return a single number."""

    def checked(*args: Any) -> Tensor:
        out = func(*args)
        is_tuple, outs = _tensors(out, OUTPUTS, function)
        if is_tuple or len(outs) != 1:
            raise RuntimeError(f"The function given to {function} should return a single Tensor")
        if outs[0]._array.size != 1:
            raise RuntimeError(
                f"The Tensor returned by the function given to {function} should contain a single "
                "element"
            )
        return outs[0].reshape(())

    return checked


def hessian(
    func: Func,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The second derivatives of a function with a single value.

    Args:
        func: a function of tensors
        inputs: the tensors, or one, to call it with
        create_graph: make the result differentiable
        strict: raise if the gradient does not depend on an input, instead of giving zeros
        vectorize: compute all rows together, as vmap would
        outer_jacobian_strategy: how the gradient is differentiated; see `strategy` of `jacobian`

    Example:
        >>> clew.autograd.functional.hessian(lambda x: x.prod(), clew.tensor([2., 3.]))
        tensor([[0., 1.],
                [1., 0.]])
    """
    is_tuple, given = _tensors(inputs, "inputs", "hessian")
    scalar = _scalar(func, "hessian")

    def gradient(*args: Tensor) -> Any:
        if outer_jacobian_strategy == "forward-mode":
            args = tuple(each if each.requires_grad else each.requires_grad_() for each in args)
        if strict:
            _check_independent([scalar(*args)], strict)
        found = jacobian(scalar, args, create_graph=True)
        for index, each in enumerate(found):
            if strict and not each.requires_grad:
                raise RuntimeError(
                    "While computing the hessian, found that the jacobian of the user-provided "
                    f"function with respect to input {index} is independent of the input. This is "
                    "not allowed in strict mode. You should ensure that your function is twice "
                    "differentiable and that the jacobian depends on the inputs (this would be "
                    "violated by a linear function for example)."
                )
        return found

    result = jacobian(
        gradient,
        given,
        create_graph=create_graph,
        strict=strict,
        vectorize=vectorize,
        strategy=outer_jacobian_strategy,
    )
    return result if is_tuple else result[0][0]


def vhp(
    func: Func, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The value of `func`, and the product of `v` with its Hessian.

    Args:
        func: a function of tensors with a single value
        inputs: the tensors, or one, to call it with
        v: one number for each input element; may be left out for a single one
        create_graph: make the results differentiable
        strict: raise if the gradient does not depend on an input, instead of giving zeros

    Example:
        >>> x, v = clew.tensor([2., 3.]), clew.tensor([1., 10.])
        >>> clew.autograd.functional.vhp(lambda x: x.prod(), x, v)
        (tensor(6.), tensor([10.0000,  1.0000]))
    """
    return _hessian_product(func, inputs, v, create_graph, strict, "vhp")


def hvp(
    func: Func, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The value of `func`, and the product of its Hessian with `v`.

    Args:
        func, inputs, v, create_graph, strict: as in `vhp`, which is the same for real functions

    Example:
        >>> x, v = clew.tensor([2., 3.]), clew.tensor([1., 10.])
        >>> clew.autograd.functional.hvp(lambda x: x.prod(), x, v)
        (tensor(6.), tensor([10.0000,  1.0000]))
    """
    return _hessian_product(func, inputs, v, create_graph, strict, "hvp")


def _hessian_product(
    func: Func, inputs: Any, v: Any, create_graph: bool, strict: bool, function: str
) -> tuple[Any, Any]:
    """Hessians of real functions are symmetric: both products are one gradient of a gradient."""
    with enable_grad():
        is_tuple, given = _tensors(inputs, "inputs", function)
        vector = _checked_v(v, given, "the input to the user-provided function is")
        leaves = _leaves(given, create_graph)
        value = _scalar(func, function)(*leaves)
        _check_independent([value], strict)
        first = _grads(
            [value], leaves, [constant_of(np.ones_like(value._array))], create_graph=True
        )
        _check_used(first, strict, 0, create_graph=True)
        paths = [
            (each, t) for each, t in zip(first, vector, strict=True)
            if each is not None and each.requires_grad
        ]  # fmt: skip
        found = _grads([each for each, _ in paths], leaves, [t for _, t in paths], create_graph)
        _check_used(found, strict, 0, create_graph=False)
        product = tuple(
            _finish(_or_zeros(each, leaf), create_graph)
            for each, leaf in zip(found, leaves, strict=True)
        )
    return _finish(value, create_graph), _unpack(product, is_tuple)
