"""Recording: a program is run, and every function of tensors that it calls is written down.

A function that is one of PyTorch's internal operations is one step (`forms.py`); others are the
operations of clew that they are made of. What Python decides by values of tensors cannot be
written, and raises; where sizes may change, the program runs several times with other sizes
(`sizes.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.inplace import apply_inplace
from clew.core.interception import Interceptor, install, remove
from clew.core.op import Op
from clew.core.state import local
from clew.core.tensor import Tensor, wrap
from clew.export.forms import form_of, form_of_operation
from clew.ops.clew import overload_of
from clew.ops.namespaces import OpOverload
from clew.overrides import TorchFunctionMode, resolve_name
from clew.utils._pytree import tree_flatten, tree_map

# Functions that give Python a value of a tensor.
_READS = frozenset(
    [
        "item",
        "tolist",
        "numpy",
        "__bool__",
        "__int__",
        "__float__",
        "__index__",
        "__complex__",
        "__array__",
        "__iter__",
        "equal",
        "allclose",
        "is_nonzero",
        "__contains__",
    ]
)
# Functions whose results have as many elements as values say.
_SIZED_BY_VALUES = frozenset(
    ["nonzero", "masked_select", "unique", "unique_consecutive", "bincount", "argwhere"]
)
_SIZES = frozenset(["shape", "size", "numel", "nelement", "__len__", "stride"])


@dataclass(frozen=True)
class Ref:
    """A tensor of the run, by its number."""

    number: int


@dataclass
class Step:
    """One call: what is called, with tensors as their numbers; `output` is the result, so, too."""

    target: OpOverload
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    output: Any
    module_stack: dict[str, Any]
    place: str


class Recorder(TorchFunctionMode):
    """Writes down the calls of a program inside of a `with` block."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[Step] = []
        # Tensors are known by their arrays, which are kept alive.
        self.tensors: list[Tensor] = []
        self._numbers: dict[int, int] = {}
        self.constants: dict[int, Tensor] = {}
        self._sized_by_values: set[int] = set()
        self.module_stack: dict[str, Any] = {}
        self._operations = _Operations(self)

    def __enter__(self) -> Recorder:
        super().__enter__()
        install(self._operations)
        return self

    def __exit__(self, *exc: Any) -> None:
        remove(self._operations)
        super().__exit__(*exc)

    # -- tensors ---------------------------------------------------------------------------

    def add(self, tensor: Tensor) -> Ref:
        """A new value."""
        self.tensors.append(tensor)
        self._numbers[id(tensor._array)] = len(self.tensors) - 1
        return Ref(len(self.tensors) - 1)

    def ref(self, tensor: Tensor) -> Ref:
        """The number of a tensor; one that no step made is a constant."""
        number = self._numbers.get(id(tensor._array))
        if number is None:
            found = self.add(tensor)
            # The program may write to it.
            self.constants[found.number] = wrap(tensor._array.copy())
            return found
        return Ref(number)

    def _known(self, tensor: Any) -> bool:
        return isinstance(tensor, Tensor) and id(tensor._array) in self._numbers

    def refs(self, values: Any) -> Any:
        """A structure with tensors as their numbers."""
        return _mapped(values, lambda leaf: self.ref(leaf) if isinstance(leaf, Tensor) else leaf)

    def _outputs(self, result: Any) -> Any:
        return tree_map(lambda leaf: self.add(leaf) if isinstance(leaf, Tensor) else leaf, result)

    # -- calls -----------------------------------------------------------------------------

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = resolve_name(func) or ""
        parts = name.removesuffix(".__get__").split(".")
        if self._operations.suspended:
            return func(*args, **kwargs)
        self._refuse(parts[-1], args)
        form = form_of(name, args, kwargs)
        if form is None:
            result = func(*args, **kwargs)
        else:
            target, given, named = form
            described = self.refs(tuple(given)), self.refs(named)
            with self._operations.suspend():
                result = target(*given, **named)
            self.write(target, *described, result)
        if _is_sized_by_values(parts[-1], args, kwargs) or self._depends_on_values(args, kwargs):
            leaves = tree_flatten(result)[0]
            tensors = [each for each in leaves if isinstance(each, Tensor) and each.ndim]
            self._sized_by_values.update(self.ref(each).number for each in tensors)
        return result

    def write(self, target: OpOverload, args: Any, kwargs: Any, result: Any) -> None:
        """Add a step."""
        output = self._outputs(result)
        place = errors.at_user_line()
        self.steps.append(Step(target, args, kwargs, output, self.module_stack, place))

    def _depends_on_values(self, args: Any, kwargs: Any) -> bool:
        if not self._sized_by_values:
            return False
        leaves = tree_flatten((args, kwargs))[0]
        return any(self._numbers.get(id(leaf._array)) in self._sized_by_values
                   for leaf in leaves if isinstance(leaf, Tensor))  # fmt: skip

    def _refuse(self, name: str, args: Any) -> None:
        """Raise where a value of a tensor would decide what the program does."""
        what = args[0] if args else None
        if name in _READS and self._known(what):
            raise GuardOnDataDependentSymNode(
                f"Could not guard on data-dependent expression Eq(u0, 1): the program reads a "
                f"value of a tensor (`{name}`), and a graph has one way only"
                + errors.at_user_line()
            )
        if name in _SIZES and self._known(what) and self._depends_on_values((what,), {}):
            raise GuardOnDataDependentSymNode(
                "Could not guard on data-dependent expression u0: the program reads a size that "
                "depends on the values of a tensor" + errors.at_user_line()
            )


class GuardOnDataDependentSymNode(RuntimeError):
    """An exported program depends on values, which are not known."""


class _Operations(Interceptor):
    """Writes down operations, where no function that is running has been written down itself."""

    captures = True

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.suspended = 0

    def suspend(self) -> _Operations:
        """Not inside of the following block."""
        return self

    def __enter__(self) -> None:
        self.suspended += 1

    def __exit__(self, *exc: Any) -> None:
        self.suspended -= 1

    def __call__(
        self, op: Any, inputs: tuple[Any, ...], params: dict[str, Any], inplace: bool = False
    ) -> Any:
        if not isinstance(op, Op):
            return params["outputs"] if self.outer is None else self.outer(op, inputs, params)
        recorder = self.recorder
        if not self.suspended:
            form = None if inplace else form_of_operation(op.name, inputs, params)
            target, given, named = form or (overload_of(op, inplace), inputs, params)
            described = recorder.refs(tuple(given)), dict(named)
        state = local.state
        state.intercept = self.outer
        try:
            result = apply_inplace(op, *inputs, **params) if inplace else op(*inputs, **params)
        finally:
            state.intercept = self
        if not self.suspended:
            recorder.write(target, *described, result)
        return result


def _is_sized_by_values(name: str, args: Any, kwargs: dict[str, Any]) -> bool:
    """Whether values decide how many elements the result of a function has."""
    if name in ("__getitem__", "index"):
        leaves = tree_flatten(args[1:])[0]
        return any(isinstance(leaf, Tensor) and leaf.dtype is dtypes.bool_ for leaf in leaves)
    if name == "repeat_interleave":
        repeats = kwargs.get("repeats", args[1] if len(args) > 1 else args[0])
        return isinstance(repeats, Tensor)
    return name in _SIZED_BY_VALUES or (name == "where" and len(args) + len(kwargs) == 1)


def _mapped(values: Any, change: Any) -> Any:
    if isinstance(values, tuple) and not hasattr(values, "_fields"):
        return tuple(_mapped(each, change) for each in values)
    if isinstance(values, list):
        return [_mapped(each, change) for each in values]
    if isinstance(values, dict):
        return {key: _mapped(each, change) for key, each in values.items()}
    return change(values)


def same_tensor(one: Tensor, two: Tensor) -> bool:
    """Whether constants of two runs are the same numbers."""
    a, b = one._array, two._array
    return a.shape == b.shape and bool(np.array_equal(a, b, equal_nan=a.dtype.kind in "fc"))
