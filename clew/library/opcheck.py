"""`opcheck`: whether what was registered for an operation fits together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from clew import errors
from clew.autograd.gradcheck import gradcheck
from clew.core.tensor import Tensor
from clew.library.custom_ops import tensors_of
from clew.library.definitions import operator_of
from clew.library.dispatch import Operator
from clew.utils._pytree import tree_leaves, tree_map

_DEFAULT = (
    "test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic",
)  # fmt: skip


class OpCheckError(Exception):
    """A test of `opcheck` has failed."""


def opcheck(
    op: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    test_utils: str | Sequence[str] = _DEFAULT,
    raise_exception: bool = True,
    atol: float | None = None,
    rtol: float | None = None,
) -> dict[str, str]:
    """Check what was registered for an operation, with example arguments.

    The schema must tell which arguments are written to and that results share no memory with
    them; the fake kernel must give the shapes and data types of the real one; and if arguments
    require grad, a gradient must be registered and agree with numerical differentiation (in
    float64; there is no compiler, so `test_aot_dispatch_dynamic` compares two runs instead).

    Args:
        op: the operation
        args, kwargs: arguments to call it with
        test_utils: the names of the tests
        raise_exception: whether to raise when a test fails
        atol, rtol: tolerances for comparing two runs

    Example:
        >>> @clew.library.custom_op("docs_opcheck::twice", mutates_args=())
        ... def twice(x: clew.Tensor) -> clew.Tensor:
        ...     return 2 * x
        >>> twice.register_fake(lambda x: clew.empty_like(x)) and None
        >>> clew.library.opcheck(twice, (clew.ones(2),), test_utils="test_faketensor")
        {'test_faketensor': 'SUCCESS'}
    """
    operator = operator_of(op)
    names = [test_utils] if isinstance(test_utils, str) else list(test_utils)
    results: dict[str, Any] = {}
    for name in names:
        if name not in _TESTS:
            raise ValueError(
                f"opcheck(op, ...): expected test_utils to be among {list(_TESTS)}, but got {name}"
                + errors.at_user_line()
            )
        try:
            _TESTS[name](operator, args, kwargs or {}, {"atol": atol, "rtol": rtol})
            results[name] = "SUCCESS"
        except Exception as error:  # whatever a kernel raises is the test's result
            if raise_exception:
                raise OpCheckError(
                    f"opcheck(op, ...): {name} failed with {error} (scroll up for stack trace)"
                ) from error
            results[name] = error
    return results


def _copies(args: Any) -> Any:
    """The same arguments in memory of their own."""

    def copied(value: Any) -> Any:
        if not isinstance(value, Tensor):
            return value
        return value.detach().clone().requires_grad_(value.requires_grad)

    return tree_map(copied, args)


def _check_schema(operator: Operator, args: Any, kwargs: Any, tolerances: Any) -> None:
    args, kwargs = _copies((args, kwargs))
    given = tensors_of(args, kwargs)
    before = [each.detach().clone() for each in given]
    outputs = [each for each in tree_leaves(operator(*args, **kwargs)) if isinstance(each, Tensor)]
    values, named = operator.schema.bind(args, kwargs)
    arguments = operator.schema.arguments
    writable: list[Tensor] = []
    for each, value in zip(arguments, [*values, *named.values()]):
        if each.is_write:
            writable.extend(tensors_of(value, {}))
    for tensor, old in zip(given, before):
        may = any(tensor is each for each in writable)
        if not may and not _equal(tensor.detach(), old):
            raise RuntimeError(
                f"{operator.qualified} writes to an argument that its schema does not mark as "
                f"mutable: {operator.schema}"
            )
    aliased = any(each.alias_set for each in operator.schema.returns)
    memory = {id(each._storage) for each in given}
    if not aliased and any(id(out._storage) in memory for out in outputs):
        raise RuntimeError(
            f"{operator.qualified} returns memory of an argument, and its schema does not say so: "
            f"{operator.schema}"
        )


def _equal(one: Tensor, other: Tensor) -> bool:
    return one.shape == other.shape and bool(((one == other) | (one != one)).all())


def _check_registration(operator: Operator, args: Any, kwargs: Any, tolerances: Any) -> None:
    """With arguments that require grad, the gradient must be that of the function."""
    if not any(each.requires_grad for each in tensors_of(args, kwargs)):
        return
    if operator.backward is None and operator.is_opaque:
        raise RuntimeError(
            f"{operator.qualified} has no gradient: use register_autograd to register one"
        )


def _check_fake(operator: Operator, args: Any, kwargs: Any, tolerances: Any) -> None:
    if operator.fake is None:
        if "CompositeImplicitAutograd" in operator.kernels:
            return
        raise RuntimeError(
            f"There was no fake impl registered for {operator.qualified}. Please use "
            "`register_fake` to add an fake impl."
        )
    values, named = operator.schema.bind(*_copies((args, kwargs)))
    fake = tree_leaves(operator.fake(*values, **named))
    real = tree_leaves(operator(*_copies(args), **_copies(kwargs)))
    if len(fake) != len(real):
        raise RuntimeError(f"the fake impl returns {len(fake)} results, the kernel {len(real)}")
    for one, other in zip(fake, real):
        if isinstance(other, Tensor):
            mine, theirs = (one.shape, one.dtype), (other.shape, other.dtype)
            if mine != theirs:
                raise RuntimeError(
                    f"the fake impl gives shape {list(mine[0])} and {mine[1]}, the kernel "
                    f"{list(theirs[0])} and {theirs[1]}"
                )


def _check_runs(operator: Operator, args: Any, kwargs: Any, tolerances: Any) -> None:
    """Two runs agree, and the gradient agrees with differences where it can be compared."""
    one, other = (operator(*_copies(args), **_copies(kwargs)) for _ in range(2))
    chosen = {name: value for name, value in tolerances.items() if value is not None}
    for mine, theirs in zip(tree_leaves(one), tree_leaves(other)):
        if isinstance(mine, Tensor) and not mine.allclose(theirs, equal_nan=True, **chosen):
            raise RuntimeError(f"two runs of {operator.qualified} differ")
    wanted = [each for each in tensors_of(args, kwargs) if each.requires_grad]
    if wanted and not kwargs and all(each.dtype.itemsize >= 8 for each in wanted):
        gradcheck(operator.overload, args)


_TESTS: dict[str, Callable[..., None]] = {
    "test_schema": _check_schema,
    "test_autograd_registration": _check_registration,
    "test_faketensor": _check_fake,
    "test_aot_dispatch_static": _check_runs,
    "test_aot_dispatch_dynamic": _check_runs,
}
