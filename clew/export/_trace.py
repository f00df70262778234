"""`torch.export.export`: a module and an example of its inputs become an `ExportedProgram`."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any

from clew import errors
from clew.core.tensor import Tensor
from clew.export.building import Builder
from clew.export.dynamic_shapes import (
    Dim,
    DynamicSize,
    dynamic_sizes,
    named_args,
    symbol_of,
    user_error,
)
from clew.export.exported_program import ExportedProgram, Size, Symbol, UserInput, ValueRanges
from clew.export.recording import Ref, Step, same_tensor
from clew.export.running import Run
from clew.export.sizes import (
    NEAR,
    Axis,
    Unexplained,
    explain_all,
    far_sizes,
    resized,
    sizes_of_runs,
)
from clew.fx.graph_module import GraphModule
from clew.nn.modules.module import Module
from clew.ops.aten import packet
from clew.utils._pytree import tree_flatten, tree_flatten_with_path

# -- sizes -----------------------------------------------------------------------------------------


class Symbols:
    """The sizes that may change, and how they are called."""

    def __init__(self, dynamic: list[DynamicSize], names: list[str], tensors: list[Tensor]) -> None:
        self.axes: tuple[Axis, ...] = ()
        # For each dimension that may change its axis, and what it is of it.
        self.places: dict[tuple[int, int], tuple[str, int, int]] = {}
        self.ranges: dict[Symbol, ValueRanges] = {}
        self.labels: dict[str, str] = {}
        roots: dict[Any, Axis] = {}
        taken: set[str] = set()
        # A size that others are made of comes first.
        for each in sorted(
            dynamic, key=lambda d: isinstance(d.spec, Dim) and d.spec.root is not d.spec
        ):
            size = tensors[each.input].shape[each.dim]
            spec = each.spec
            derived = isinstance(spec, Dim) and spec.root is not spec
            key: Any = spec.root.__name__ if isinstance(spec, Dim) else ("same size", size)
            low, high = spec.min or 0, float("inf") if spec.max is None else spec.max
            if not low <= size <= high:
                top = "int_oo" if high == float("inf") else high
                raise user_error(f"{size} not in range [{low}, {top}]")
            if key not in roots:
                if derived:
                    raise user_error(f"the size {spec!r} is made of {key}, which no input has")
                symbol = symbol_of(names[each.input], each.dim, taken)
                sizes = sizes_of_runs(size, len(roots) + 1, low, high)
                far = far_sizes(size, len(roots) + 1, tensors[each.input].numel(), low, high)
                roots[key] = Axis(symbol, each.input, each.dim, (*sizes, *far))
                least = low if isinstance(spec, Dim) else 2
                self.ranges[Symbol(symbol)] = ValueRanges(
                    least, None if high == float("inf") else int(high)
                )
                self.labels[symbol] = (
                    key if isinstance(key, str) else f"{names[each.input]}_{each.dim}"
                )
            factor, offset = (spec.factor, spec.offset) if isinstance(spec, Dim) else (1, 0)
            root = roots[key]
            if factor * tensors[root.input].shape[root.dim] + offset != size:
                raise user_error(
                    f"Constraints violated ({self.labels[root.name]})! {names[each.input]}.size()"
                    f"[{each.dim}] is {size}, where "
                    f"{factor * tensors[root.input].shape[root.dim] + offset} was expected"
                )
            self.places[each.input, each.dim] = (root.name, factor, offset)
            if derived:
                upper = None if high == float("inf") else int(high)
                text = Symbol(_symbolic(root.name, factor, offset))
                self.ranges[text] = ValueRanges(int(low), upper)
        self.axes = tuple(roots.values())

    def keep(self, runs: list[int]) -> None:
        """Forget the sizes of all runs but some."""
        self.axes = tuple(
            replace(axis, sizes=tuple(axis.sizes[number] for number in runs)) for axis in self.axes
        )

    def all_axes(self) -> tuple[Axis, ...]:
        """With an axis for every dimension that changes: for making the inputs of the runs."""
        by_name = {axis.name: axis for axis in self.axes}
        return tuple(
            Axis(name, number, dim, tuple(factor * n + offset for n in by_name[name].sizes))
            for (number, dim), (name, factor, offset) in self.places.items()
        )


# -- merging ---------------------------------------------------------------------------------------


def _merged(runs: list[Run], symbols: Symbols) -> tuple[list[Step], list[Any]]:
    """The steps of all runs as one, with numbers that change as expressions."""
    one, axes = runs[0], symbols.axes
    if len(runs) == 1:
        return one.recorder.steps, one.outputs
    names = [[str(step.target) for step in run.recorder.steps] for run in runs]
    if any(each != names[0] for each in names):
        raise Unexplained("the program calls other functions for other sizes")
    steps = []
    for same in zip(*(run.recorder.steps for run in runs), strict=True):
        try:
            args = explain_all([step.args for step in same], axes)
            kwargs = {k: explain_all([s.kwargs[k] for s in same], axes) for k in same[0].kwargs}
        except Unexplained as reason:
            raise Unexplained(f"an argument of {same[0].target} is {reason}") from None
        first = same[0]
        steps.append(
            Step(first.target, args, kwargs, first.output, first.module_stack, first.place)
        )
    for numbers in zip(*(run.recorder.constants for run in runs), strict=True):
        made = _constant_step(numbers, runs, axes)
        if made is not None:
            steps.insert(0, made)
    return steps, [explain_all(each, axes) for each in zip(*(r.outputs for r in runs), strict=True)]


def _constant_step(
    numbers: tuple[int, ...], runs: list[Run], axes: tuple[Axis, ...]
) -> Step | None:
    """What makes a tensor that no step made, where its size changes."""
    tensors = [run.recorder.constants[number] for run, number in zip(runs, numbers, strict=True)]
    first = tensors[0]
    if all(same_tensor(first, each) for each in tensors[1:]):
        return None
    shape = explain_all([list(each.shape) for each in tensors], axes)
    value = first._array.reshape(-1)[:1].sum().item()
    for each in tensors:
        if not (each._array == value).all():
            raise Unexplained("a tensor that is no input has other values for other sizes")
    options = {"dtype": first.dtype}
    return Step(packet("full").default, (shape, value), options, Ref(numbers[0]), {}, "")


# -- names of inputs -------------------------------------------------------------------------------


def _input_names(named: dict[str, Any]) -> tuple[list[str], list[str]]:
    """For each leaf of the arguments the name of its node, and how the program says it."""
    nodes, texts = [], []
    for path, _ in tree_flatten_with_path(named)[0]:
        first, *rest = [_key(entry) for entry in path]
        nodes.append("_".join(str(each) for each in (first, *rest)))
        texts.append(first + "".join(_step(entry) for entry in path[1:]))
    return nodes, texts


def _key(entry: Any) -> Any:
    for name in ("key", "idx", "name"):
        if hasattr(entry, name):
            return getattr(entry, name)
    return str(entry)


def _step(entry: Any) -> str:
    return f".{entry.name}" if hasattr(entry, "name") else f"[{_key(entry)!r}]"


# -- export ----------------------------------------------------------------------------------------


def export(
    mod: Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    strict: bool = False,
    preserve_module_call_signature: tuple[str, ...] = (),
    prefer_deferred_runtime_asserts_over_guards: bool = False,
) -> ExportedProgram:
    """A module as a graph: the functions that one forward pass calls.

    The module runs as it is: once, or up to five times where sizes may change. What it
    decides by values of tensors, and by sizes that may change, cannot be written and raises.

    Args:
        mod: the module
        args: an example of its arguments, as a tuple
        kwargs: those by name
        dynamic_shapes: which sizes may change: {"x": {0: Dim("batch")}}, or in a tuple
        strict: changes nothing: there is one way of tracing
        preserve_module_call_signature: changes nothing
        prefer_deferred_runtime_asserts_over_guards: changes nothing

    Example:
        >>> program = clew.export.export(nn.Linear(2, 1), (clew.ones(4, 2),))
        >>> print(program.graph)
        graph():
            %p_weight : [num_users=1] = placeholder[target=p_weight]
            %p_bias : [num_users=1] = placeholder[target=p_bias]
            %input_1 : [num_users=1] = placeholder[target=input]
            %linear : [num_users=1] = call_function[target=torch.ops.aten.linear.default](args = \
(%input_1, %p_weight, %p_bias), kwargs = {})
            return (linear,)
    """
    if not isinstance(mod, Module):
        raise ValueError(
            f"Expected `mod` to be an instance of `torch.nn.Module`, got {type(mod)}."
            + errors.at_user_line()
        )
    if not isinstance(args, tuple):
        raise user_error(
            f"Expecting `args` to be a tuple of example positional inputs, got {type(args)}"
        )
    kwargs = kwargs or {}
    named = named_args(mod, args, kwargs)
    nodes, texts = _input_names(named)
    leaves, _ = tree_flatten((args, kwargs))
    tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
    of_tensors = [
        text for text, leaf in zip(texts, leaves, strict=True) if isinstance(leaf, Tensor)
    ]
    symbols = Symbols(dynamic_sizes(dynamic_shapes, named), of_tensors, tensors)
    runs = _runs(mod, args, kwargs, tensors, symbols)
    try:
        steps, outputs = _merged(runs, symbols)
    except Unexplained as reason:
        raise _violated(symbols, str(reason)) from None
    builder = Builder(runs[0], mod)
    builder.inputs(steps, nodes)
    for step in steps:
        builder.step(step)
    builder.output(outputs)
    inputs = _user_inputs(leaves, texts, symbols)
    for node, each in zip(builder.placeholders, inputs, strict=True):
        if each.sizes is not None:
            node.meta["sizes"] = list(each.sizes)
    _note_sizes(builder, runs, symbols)
    constants = dict(builder.constants)
    persistent = mod.state_dict(keep_vars=True)
    constants |= {name: b for name, b in mod.named_buffers() if name not in persistent}
    return ExportedProgram(
        root=GraphModule(Module(), builder.graph),
        graph_signature=builder.signature,
        state_dict={name: value for name, value in persistent.items() if isinstance(value, Tensor)},
        constants=constants,
        range_constraints=symbols.ranges,
        in_spec=runs[0].in_spec,
        out_spec=runs[0].out_spec,
        inputs=inputs,
        arg_names=_arg_names(mod, named),
        example_inputs=(args, kwargs),
    )


def _arg_names(mod: Module, named: dict[str, Any]) -> list[str]:
    """The names of the arguments, one by one."""
    parameters = inspect.signature(mod.forward).parameters
    found: list[str] = []
    for name, value in named.items():
        if name in parameters and parameters[name].kind is inspect.Parameter.VAR_POSITIONAL:
            found += [f"{name}_{number}" for number in range(len(value))]
        else:
            found.append(name)
    return found


def _runs(mod: Module, args: Any, kwargs: Any, tensors: Any, symbols: Symbols) -> list[Run]:
    """The module with the sizes of the example, and with others where some may change.

    Sizes that are far from the example's tell more, but the module need not take them.
    """
    axes = symbols.all_axes()
    runs: dict[int, Run] = {}
    for number in range(len(axes[0].sizes) if axes else 1):
        given, named = resized((args, kwargs), tensors, axes, number)
        try:
            runs[number] = Run(mod, given, named)
        except (RuntimeError, ValueError, IndexError, AssertionError) as error:
            if not number:
                raise
            # A module may have limits that sizes close to the example's do not reach.
            if number < NEAR:
                raise _violated(symbols, f"with other sizes, it raises: {error}") from error
    symbols.keep(list(runs))
    return list(runs.values())


def _violated(symbols: Symbols, reason: str) -> Exception:
    names = ", ".join(dict.fromkeys(symbols.labels.values()))
    return user_error(
        f'Constraints violated ({names})! For more information, run with TORCH_LOGS="+dynamic".\n'
        f"  - You marked {names} as dynamic, but the program depends on the size: {reason}"
    )


def _user_inputs(leaves: list[Any], texts: list[str], symbols: Symbols) -> list[UserInput]:
    found = []
    number = 0
    for leaf, text in zip(leaves, texts, strict=True):
        if not isinstance(leaf, Tensor):
            found.append(UserInput(text, None, leaf))
            continue
        sizes: list[Size] = []
        for dim, size in enumerate(leaf.shape):
            place = symbols.places.get((number, dim))
            sizes.append(int(size) if place is None else _symbolic(*place))
        found.append(UserInput(text, sizes, None))
        number += 1
    return found


def _symbolic(name: str, factor: int, offset: int) -> str:
    text = name if factor == 1 else f"{factor}*{name}"
    return f"{text} {'+' if offset > 0 else '-'} {abs(offset)}" if offset else text


def _note_sizes(builder: Builder, runs: list[Run], symbols: Symbols) -> None:
    """Note for each value how its shape depends on sizes that may change."""
    if len(runs) == 1:
        return
    numbers = [range(len(run.recorder.tensors)) for run in runs]
    for same in zip(*numbers, strict=False):
        node = builder.nodes.get(same[0])
        if node is None:
            continue
        shapes = [tuple(run.recorder.tensors[n].shape) for run, n in zip(runs, same, strict=True)]
        try:
            sizes = explain_all(shapes, symbols.axes)
        except Unexplained:
            # A size that nothing else asks for: it need not have a formula.
            sizes = tuple("?" if len(set(n)) > 1 else n[0] for n in zip(*shapes, strict=True))
        node.meta["sizes"] = [n if isinstance(n, int) else str(n) for n in sizes]
