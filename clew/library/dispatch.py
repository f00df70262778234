"""Running an operation that a program defined: which of its kernels, and with which gradient.

Kernels are registered by dispatch key. The order in which they are looked for is PyTorch's on the
CPU: a kernel for autograd, then a formula for the gradient around the kernel of the device.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

from clew import errors
from clew.amp.settings import is_autocast_enabled
from clew.autograd.function import Function, FunctionMeta
from clew.core.tensor import Tensor
from clew.library.schema import FunctionSchema
from clew.ops.namespaces import OpOverload, OpOverloadPacket, namespace
from clew.ops.shape.joining import stack
from clew.utils._pytree import tree_flatten, tree_map, tree_unflatten

# Which kernels the CPU takes, in this order.
_CPU_KEYS = ("CPU", "CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional", "")
_AUTOGRAD_KEYS = ("Autograd", "AutogradCPU")
_COMPOSITE = "CompositeImplicitAutograd"


class _BelowAutograd(threading.local):
    """Whether this thread is inside a kernel for autograd, below which the next kernels run."""

    active = False


_below = _BelowAutograd()


class AutoDispatchBelowAutograd:
    """Inside, operations take the kernel of the device and not the one for autograd."""

    def __enter__(self) -> None:
        self._before = _below.active
        _below.active = True

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _below.active = self._before


class _Structure:
    """Where the structure of an operation's results is put while it runs."""

    spec: Any = None


class Operator:
    """What `OpOverload` calls: the schema, the kernels by dispatch key, the rules."""

    def __init__(self, library: str, schema: FunctionSchema) -> None:
        self.library = library
        self.schema = schema
        self.name = schema.name.partition("::")[2]
        self.kernels: dict[str, Callable[..., Any]] = {}
        self.fake: Callable[..., Any] | None = None
        self.setup_context: Callable[..., Any] | None = None
        self.backward: Callable[..., Any] | None = None
        self.vmap: Callable[..., Any] | None = None
        # Whether the kernel hides its history: one made by `custom_op` does.
        self.is_opaque = False
        # The data type that autocast gives floating-point arguments.
        self.cast_inputs: Any = None
        packet: OpOverloadPacket = namespace(library).packet(self.name)
        self.overload = OpOverload(packet, schema.overload_name or "default", self, schema)
        packet._overloads[self.overload._overload] = self.overload
        self._function: type[Function] | None = None

    @property
    def qualified(self) -> str:
        return self.overload.name()

    def changed(self) -> None:
        """A rule is new: the function that has it is made again when it is needed."""
        self._function = None

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        values, named = self.schema.bind(args, kwargs)
        if self.cast_inputs is not None and is_autocast_enabled("cpu"):
            values, named = self._cast((values, named))
        if not _below.active:
            for key in _AUTOGRAD_KEYS:
                if key in self.kernels:
                    return self.kernels[key](*values, **named)
            if self.is_opaque or self.backward is not None or self.vmap is not None:
                return self._with_rules(values, named)
        return self.kernel()(*values, **named)

    def _cast(self, given: Any) -> Any:
        return tree_map(
            lambda each: (
                each.to(self.cast_inputs)
                if isinstance(each, Tensor) and each.is_floating_point()
                else each
            ),
            given,
        )

    def kernel(self) -> Callable[..., Any]:
        """The kernel of the CPU, or the one that is composed of other operations."""
        for key in (*_CPU_KEYS, _COMPOSITE):
            if key in self.kernels:
                return self.kernels[key]
        known = ", ".join(key or "all devices" for key in self.kernels) or "none"
        raise NotImplementedError(
            f"Could not run '{self.qualified}' with arguments from the 'CPU' backend: no kernel "
            f"was registered for it. Registered are: {known}." + errors.at_user_line()
        )

    # -- gradients and vmap ------------------------------------------------------------------

    def _with_rules(self, values: list[Any], named: dict[str, Any]) -> Any:
        function = self._function
        if function is None:
            function = self._function = _function_of(self)
        # A list of tensors is as many arguments: each has its gradient.
        leaves, spec = tree_flatten(tuple(values))
        result = _Structure()
        outputs = function.apply((spec, named, result), *leaves)
        self._bump_mutated(values, named)
        return tree_unflatten(outputs, result.spec)

    def _bump_mutated(self, values: list[Any], named: dict[str, Any]) -> None:
        """Count a write to what the kernel may have written past the counter (through NumPy)."""
        if self.schema.is_mutable:
            given = dict(zip((each.name for each in self.schema.arguments), values)) | named
            for each in self.schema.arguments:
                for tensor in tree_flatten(given[each.name])[0] if each.is_write else ():
                    if isinstance(tensor, Tensor):
                        tensor._storage.version += 1

    def call_kernel(self, spec: Any, named: dict[str, Any], leaves: tuple[Any, ...]) -> Any:
        """The kernel's result, which shares no memory with what it was given."""
        values = tree_unflatten(leaves, spec)
        output = self.kernel()(*values, **named)
        if self.is_opaque:
            self._check_aliases(leaves, named, output)
        return output

    def _check_aliases(self, leaves: Any, named: dict[str, Any], output: Any) -> None:
        seen = {id(each) for each in (*leaves, *named.values()) if isinstance(each, Tensor)}
        memory = {id(each._storage) for each in leaves if isinstance(each, Tensor)}
        for each in tree_flatten(output)[0]:
            if isinstance(each, Tensor):
                if id(each) in seen or id(each._storage) in memory:
                    raise RuntimeError(
                        f"{self.name} (with implementation in {self.kernel().__module__}): The "
                        "output of this custom operator (1) must not also be an input to this "
                        "custom operator and (2) may not alias any inputs to this custom operator "
                        "or other returns. The most common way to trigger this error is if we have "
                        "y = custom_op(x) and y and x are the same Tensor. Please instead return a "
                        "clone of the offending output tensor(s) (e.g. return x.clone()) or "
                        "refactor the custom operator to not return y." + errors.at_user_line()
                    )
                seen.add(id(each))


def _function_of(operator: Operator) -> type[Function]:
    """The custom function of an operation: its kernel forward, its formula backward.

    The first argument has the structure of the others, which are its leaves.
    """

    def forward(call: Any, *leaves: Any) -> Any:
        spec, named, result = call
        outputs, result_spec = tree_flatten(operator.call_kernel(spec, named, leaves))
        result.spec = result_spec
        return tuple(outputs)

    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        (spec, named, result), *leaves = inputs
        ctx.argument_spec = spec
        ctx.set_materialize_grads(True)
        if operator.setup_context is not None:
            values = tree_unflatten(leaves, spec)
            returned = tree_unflatten(output, result.spec)
            if any(each.kwarg_only for each in operator.schema.arguments):
                operator.setup_context(
                    ctx=ctx, inputs=values, keyword_only_inputs=named, output=returned
                )
            else:
                operator.setup_context(ctx=ctx, inputs=values, output=returned)
        ctx.result_spec = result.spec

    def backward(ctx: Any, *grads: Any) -> Any:
        if operator.backward is None:
            raise RuntimeError(
                f"Trying to backward through {operator.overload} but no autograd formula was "
                "registered. Please use register_autograd to add one." + errors.at_user_line()
            )
        given = tree_unflatten(grads, ctx.result_spec)
        single = len(operator.schema.returns) == 1
        results = operator.backward(ctx, given) if single else operator.backward(ctx, *given)
        results = results if isinstance(results, tuple) else (results,)
        return (None, *_leaf_gradients(operator, ctx.argument_spec, results))

    def vmap(info: Any, in_dims: tuple[Any, ...], call: Any, *leaves: Any) -> Any:
        spec, named, result = call
        rule = operator.vmap or _loop(operator)
        dims = tree_unflatten(in_dims[1:], spec)
        output, out_dims = rule(info, dims, *tree_unflatten(leaves, spec), **named)
        outputs, result_spec = tree_flatten(output)
        result.spec = result_spec
        flat_dims = [out_dims] if not isinstance(out_dims, (tuple, list)) else None
        if flat_dims is None:
            flat_dims = tree_flatten(out_dims)[0]
        return tuple(outputs), tuple(flat_dims)

    name = f"GeneratedBackwardFor_{operator.library}_{operator.name}_{operator.overload._overload}"
    members = {
        "forward": staticmethod(forward),
        "setup_context": staticmethod(setup_context),
        "backward": staticmethod(backward),
        "vmap": staticmethod(vmap),
    }
    return FunctionMeta(name, (Function,), members)  # type: ignore[return-value]  # it makes functions


def _leaf_gradients(operator: Operator, spec: Any, results: tuple[Any, ...]) -> list[Any]:
    """One gradient for each leaf of the arguments, from one for each argument."""
    if len(results) != spec.num_children:
        raise RuntimeError(
            f"{operator.qualified}: the backward formula returned {len(results)} gradients, and "
            f"the operation has {spec.num_children} arguments" + errors.at_user_line()
        )
    found: list[Any] = []
    for each, result in zip(spec.children_specs, results):
        if each.is_leaf():
            found.append(result)
        elif result is None:
            found.extend([None] * each.num_leaves)
        else:
            found.extend(result)
    return found


def _loop(operator: Operator) -> Callable[..., Any]:
    """The rule of vmap for an operation without one: example by example."""

    def rule(info: Any, in_dims: Any, *values: Any, **named: Any) -> Any:
        leaves, spec = tree_flatten(tuple(values))
        dims = spec.flatten_up_to(tuple(in_dims))
        columns = [
            each.unbind(dim) if dim is not None else [each] * info.batch_size
            for each, dim in zip(leaves, dims)
        ]
        results = [
            tree_flatten(operator.overload(*tree_unflatten(column, spec), **named))
            for column in zip(*columns)
        ]
        stacked = [stack(column) for column in zip(*(leaves for leaves, _ in results))]
        return tree_unflatten(stacked, results[0][1]), [0] * len(stacked)

    return rule
