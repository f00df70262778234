"""`custom_op`: a Python function as an operation, with its gradient and its rule for vmap."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from clew import errors
from clew.core.tensor import Tensor
from clew.library.definitions import (
    Library,
    _key_of,
    define_operator,
    keep_fake,
    operator_of,
)
from clew.library.dispatch import Operator
from clew.library.schema import infer_schema, parse
from clew.ops.namespaces import namespace
from clew.utils._pytree import tree_flatten


class CustomOpDef:
    """An operation made of a Python function: what `custom_op` returns. Calling it runs it."""

    def __init__(self, operator: Operator, fn: Callable[..., Any]) -> None:
        self._operator = operator
        self._namespace, self._name = operator.library, operator.name
        self._qualname = operator.qualified
        self._init_fn = fn
        self._schema = str(operator.schema)
        functools.update_wrapper(self, fn)

    @property
    def _opoverload(self) -> Any:
        return self._operator.overload

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self._operator(*args, **kwargs)

    def register_kernel(
        self, device_types: str | Sequence[str] | None, fn: Callable[..., Any] | None = None, /
    ) -> Any:
        """Register a kernel for devices, or all devices; a decorator without a function."""

        def register(function: Any) -> Any:
            given = [device_types] if isinstance(device_types, str) else device_types
            for key in ["CompositeExplicitAutograd"] if given is None else map(_key_of, given):
                self._operator.kernels[key] = function
            return function

        return register if fn is None else register(fn)

    def register_fake(self, fn: Callable[..., Any], /) -> Any:
        """Register what computes only the shapes and data types of the results."""
        self._operator.fake = fn
        return fn

    register_abstract = register_fake

    def register_autograd(
        self, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None
    ) -> None:
        """Register the gradient: `backward(ctx, *grads)` returns one for each argument."""
        register_autograd(self, backward, setup_context=setup_context)

    def register_vmap(self, func: Callable[..., Any] | None = None) -> Any:
        """Register the rule for vmap: `func(info, in_dims, *args)`; a decorator without it."""

        def register(function: Any) -> Any:
            self._operator.vmap = function
            self._operator.changed()
            return function

        return register if func is None else register(func)

    def register_torch_dispatch(self, *args: Any, **kwargs: Any) -> Any:
        """Raises: clew has no rules by class of tensor."""
        raise NotImplementedError(
            "register_torch_dispatch: clew runs an operation by its kernels alone"
            + errors.at_user_line()
        )

    def register_autocast(self, device_type: str, cast_inputs: Any, /) -> None:
        """Cast the arguments to a data type while autocast is on for a device."""
        register_autocast(self, device_type, cast_inputs)


def custom_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: str | Sequence[str] | None = None,
    schema: str | None = None,
    tags: Any = None,
) -> Any:
    """A Python function as an operation of `torch.ops`; a decorator without the function.

    What the function does is not looked into: its gradient is what `register_autograd` is given.

    Args:
        name: `"namespace::name"`
        fn: the function; its arguments and its result have annotations
        mutates_args: the names of the arguments that it writes to, or "unknown"
        device_types: the devices that the function is for; None for all
        schema: the schema, if it is not to be inferred from the annotations
        tags: accepted

    Example:
        >>> @clew.library.custom_op("docs_custom::square", mutates_args=())
        ... def square(x: clew.Tensor) -> clew.Tensor:
        ...     return clew.from_numpy(x.numpy() ** 2)
        >>> def backward(ctx, grad):
        ...     return 2 * ctx.saved_tensors[0] * grad
        >>> def setup_context(ctx, inputs, output):
        ...     ctx.save_for_backward(inputs[0])
        >>> square.register_autograd(backward, setup_context=setup_context)
        >>> x = clew.tensor([3.], requires_grad=True)
        >>> square(x).backward()
        >>> x.grad
        tensor([6.])
    """

    def make(function: Callable[..., Any]) -> CustomOpDef:
        space, separator, short = name.partition("::")
        if not separator or not short:
            raise ValueError(
                f"Expected `name` to be of the form 'namespace::name', but got {name!r}"
                + errors.at_user_line()
            )
        text = schema or infer_schema(function, mutates_args=mutates_args)
        read = parse(f"{space}::{short}{text}")
        packet = namespace(space)._packets.get(short)
        if packet is not None and "default" in packet._overloads:
            # A cell of a notebook that runs again defines the operation anew.
            namespace(space).remove(packet, "default")
        operator = define_operator(space, read)
        operator.is_opaque = True
        made = CustomOpDef(operator, function)
        made.register_kernel(device_types, function)
        return made

    return make if fn is None else make(fn)


def triton_op(name: str, fn: Any = None, /, *, mutates_args: Any, schema: str | None = None) -> Any:
    """As `custom_op`: what a kernel for a GPU would be called by.

    Args:
        name: `"namespace::name"`
        fn: the function
        mutates_args: the names of the arguments that it writes to
        schema: the schema, if it is not to be inferred

    Example:
        >>> @clew.library.triton_op("docs_triton::double", mutates_args=())
        ... def double(x: clew.Tensor) -> clew.Tensor:
        ...     return 2 * x
        >>> double(clew.ones(2))
        tensor([2., 2.])
    """
    made = custom_op(name, fn, mutates_args=mutates_args, schema=schema)
    if fn is not None:
        made._operator.is_opaque = False
        return made

    def make(function: Any) -> Any:
        definition = made(function)
        definition._operator.is_opaque = False
        return definition

    return make


def wrap_triton(triton_kernel: Any, /) -> Any:
    """The kernel itself.

    Args:
        triton_kernel: the kernel

    Example:
        >>> clew.library.wrap_triton(len) is len
        True
    """
    return triton_kernel


# -- rules of operations, by name ------------------------------------------------------------------


def register_kernel(
    op: Any,
    device_types: str | Sequence[str] | None,
    func: Callable[..., Any] | None = None,
    /,
    *,
    lib: Library | None = None,
) -> Any:
    """Register a kernel of an operation for devices; a decorator without the function.

    Args:
        op: the operation
        device_types: the devices; None for all
        func: the kernel
        lib: the library that the kernel belongs to

    Example:
        >>> clew.library.define("docs_kernel::twice", "(Tensor x) -> Tensor")
        >>> @clew.library.register_kernel("docs_kernel::twice", "cpu")
        ... def twice(x):
        ...     return 2 * x
        >>> clew.ops.docs_kernel.twice(clew.ones(2))
        tensor([2., 2.])
    """
    operator = operator_of(op)

    def register(function: Any) -> Any:
        given = [device_types] if isinstance(device_types, str) else device_types
        for key in ["CompositeExplicitAutograd"] if given is None else map(_key_of, given):
            operator.kernels[key] = function
        return function

    return register if func is None else register(func)


def register_fake(
    op: Any,
    func: Callable[..., Any] | None = None,
    /,
    *,
    lib: Library | None = None,
    _stacklevel: int = 1,
    allow_override: bool = False,
) -> Any:
    """Register what computes only the shapes and data types of an operation's results.

    It runs in `opcheck`. An operation that is named may be defined later. A decorator without the
    function.

    Args:
        op: the operation
        func: the function; it has the arguments of the operation
        lib: the library that it belongs to
        allow_override: whether one that is there may be replaced

    Example:
        >>> clew.library.define("docs_fake::twice", "(Tensor x) -> Tensor")
        >>> @clew.library.register_fake("docs_fake::twice")
        ... def twice(x):
        ...     return clew.empty_like(x)
    """

    def register(function: Any) -> Any:
        keep_fake(op, function, lib.ns if lib is not None else "")
        return function

    return register if func is None else register(func)


def impl_abstract(qualname: Any, func: Any = None, *, lib: Any = None, _stacklevel: int = 1) -> Any:
    """Deprecated: the former name of `register_fake`."""
    return register_fake(qualname, func, lib=lib)


def register_autograd(
    op: Any,
    backward: Callable[..., Any],
    /,
    *,
    setup_context: Callable[..., Any] | None = None,
    lib: Library | None = None,
) -> None:
    """Register the gradient of an operation.

    Args:
        op: the operation
        backward: `backward(ctx, *grads)`, which returns a gradient or None for each argument
        setup_context: `setup_context(ctx, inputs, output)`, which keeps what backward needs
        lib: the library that it belongs to

    Example:
        >>> clew.library.define("docs_autograd::twice", "(Tensor x) -> Tensor")
        >>> clew.library.impl("docs_autograd::twice", "cpu", lambda x: 2 * x)
        >>> clew.library.register_autograd("docs_autograd::twice", lambda ctx, grad: 2 * grad)
        >>> x = clew.ones(1, requires_grad=True)
        >>> clew.ops.docs_autograd.twice(x).backward()
        >>> x.grad
        tensor([2.])
    """
    operator = operator_of(op, lib.ns if lib is not None else "")
    if operator.schema.is_mutable and operator.schema.returns:
        raise RuntimeError(
            f"Cannot register autograd formula for non-functional operator {operator.overload} "
            f"with schema {operator.schema}. Please create a functional operator and register an "
            "autograd formula for that." + errors.at_user_line()
        )
    operator.backward, operator.setup_context = backward, setup_context
    operator.changed()


def register_vmap(
    op: Any, func: Callable[..., Any] | None = None, /, *, lib: Library | None = None
) -> Any:
    """Register the rule of an operation for vmap; a decorator without the function.

    Args:
        op: the operation
        func: `func(info, in_dims, *args)`, which returns the results for all examples and the
            dimensions that count them
        lib: the library that it belongs to

    Example:
        >>> clew.library.define("docs_vmap::twice", "(Tensor x) -> Tensor")
        >>> clew.library.impl("docs_vmap::twice", "cpu", lambda x: 2 * x)
        >>> @clew.library.register_vmap("docs_vmap::twice")
        ... def rule(info, in_dims, x):
        ...     return 2 * x, in_dims[0]
        >>> clew.vmap(clew.ops.docs_vmap.twice)(clew.ones(2))
        tensor([2., 2.])
    """
    operator = operator_of(op, lib.ns if lib is not None else "")

    def register(function: Any) -> Any:
        operator.vmap = function
        operator.changed()
        return function

    return register if func is None else register(func)


def register_autocast(
    op: Any, device_type: str, cast_inputs: Any, /, *, lib: Library | None = None
) -> None:
    """Cast the arguments of an operation to a data type while autocast is on.

    Args:
        op: the operation
        device_type: "cpu" or "cuda"
        cast_inputs: the data type
        lib: the library that it belongs to

    Example:
        >>> clew.library.define("docs_autocast::twice", "(Tensor x) -> Tensor")
        >>> clew.library.impl("docs_autocast::twice", "cpu", lambda x: 2 * x)
        >>> clew.library.register_autocast("docs_autocast::twice", "cpu", clew.bfloat16)
        >>> with clew.autocast("cpu"):
        ...     clew.ops.docs_autocast.twice(clew.ones(1)).dtype
        torch.bfloat16
    """
    if device_type not in ("cpu", "cuda"):
        raise ValueError(f"Unknown device type: {device_type}" + errors.at_user_line())
    if device_type == "cpu":
        operator_of(op, lib.ns if lib is not None else "").cast_inputs = cast_inputs


def get_kernel(op: Any, dispatch_key: str) -> Any:
    """The kernel of an operation for a dispatch key.

    Args:
        op: the operation
        dispatch_key: such as "CPU"

    Example:
        >>> clew.library.define("docs_get::twice", "(Tensor x) -> Tensor")
        >>> clew.library.impl("docs_get::twice", "cpu", lambda x: 2 * x)
        >>> clew.library.get_kernel("docs_get::twice", "CPU")(clew.ones(1))
        tensor([2.])
    """
    operator = operator_of(op)
    if dispatch_key not in operator.kernels:
        raise RuntimeError(
            f"{operator.qualified} has no kernel for the dispatch key {dispatch_key}"
            + errors.at_user_line()
        )
    return operator.kernels[dispatch_key]


def tensors_of(args: Any, kwargs: Any) -> list[Tensor]:
    """The tensors among arguments, also in lists."""
    return [each for each in tree_flatten((args, kwargs))[0] if isinstance(each, Tensor)]
