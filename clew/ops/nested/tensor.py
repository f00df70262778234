"""The nested tensor: its values, how they are cut into components, and the tables of rules.

A nested tensor is a batch of strided tensors whose sizes differ. All elements are in one strided
tensor, the values. Its class says how they are cut: in the jagged layout along one ragged dimension
at offsets, in the strided one into flat pieces of any shape. Two operations lead from values to
nested tensors and back, and are each other's gradient; rules for functions are made of them and of
functions of strided tensors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np

from clew import errors
from clew.backend import layout as layouts
from clew.core.override_tables import METHOD_OF_OPERATOR
from clew.core.overrides import Override
from clew.core.tensor import Tensor, wrap
from clew.core.unstrided import LayoutOp, NotStrided, Unstrided, blank, plain_name
from clew.ops.nested.cuts import Jagged, Pieces
from clew.ops.shape.joining import cat

F = TypeVar("F", bound=Callable[..., Any])
Rule = Callable[..., Any]

# -- classes ---------------------------------------------------------------------------------------


class Nested(Unstrided):
    """A batch of tensors whose sizes differ, in either layout."""

    __slots__ = ("_cuts",)

    _backend = "NestedTensor"

    TABLE: ClassVar[dict[str, Rule]] = {}

    _cuts: Any

    @classmethod
    def run(cls, own: Override, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A function of nested tensors, by the rule of its name."""
        name = plain_name(own.name)
        rule = cls.TABLE.get(name)
        if rule is not None:
            return rule(own.implementation, *args, **kwargs)
        if name in AS_WRITTEN:
            try:
                return own.implementation(*args, **kwargs)
            except NotStrided:
                pass
        raise cls.refusal(METHOD_OF_OPERATOR.get(name, name)) from None

    @staticmethod
    def refusal(name: str) -> NotImplementedError:
        """What PyTorch says of a function that the layout does not have."""
        return NotImplementedError(name)


class NestedTensor(Nested):
    """A nested tensor in the jagged layout: one dimension is ragged, of all others the size is one.

    Args:
        values: the elements; the ragged dimension has those of all components one after another
        offsets: where components begin, and where the last one ends
        lengths: how long components are, where there are gaps between them

    Example:
        >>> clew.nested.nested_tensor([clew.ones(2), clew.ones(3)], layout=clew.jagged).values()
        tensor([1., 1., 1., 1., 1.])
    """

    __slots__ = ()

    TABLE: ClassVar[dict[str, Rule]] = {}

    def __new__(
        cls,
        values: Tensor,
        offsets: Tensor,
        *,
        lengths: Tensor | None = None,
        requires_grad: bool = False,
        _ragged_idx: int = 1,
        _metadata_cache: dict[str, Any] | None = None,
    ) -> NestedTensor:
        known = {
            name: n._layout.shape[0] if isinstance(n, Tensor) else int(n)
            for name, n in (_metadata_cache or {}).items()
            if n is not None
        }
        result = of_values(values, Jagged(offsets, lengths, _ragged_idx, known))
        result._requires_grad = requires_grad
        return result  # type: ignore[return-value]  # of these cuts it is one

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """All is made before."""

    @property  # type: ignore[misc]  # the same
    def __class__(self) -> type[Tensor]:  # type: ignore[override]  # type(x) sees what it is
        return NestedTensor

    @staticmethod
    def rules(own: Override, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return NestedTensor.run(own, args, kwargs)

    @staticmethod
    def refusal(name: str) -> NotImplementedError:
        return NotImplementedError(
            f"aten.{name}.default\n  Nested tensors of the jagged layout do not have it: "
            "`values()`, `unbind()` and `to_padded_tensor(...)` give strided tensors."
            + errors.at_user_line()
        )

    def __iter__(self) -> Iterator[Tensor]:
        return iter(components(self))

    def offsets(self) -> Tensor:
        """Where each component begins among the values, and where the last one ends.

        Example:
            >>> rows = [clew.ones(2), clew.ones(3)]
            >>> clew.nested.nested_tensor(rows, layout=clew.jagged).offsets()
            tensor([0, 2, 5])
        """
        return self._offsets

    def lengths(self) -> Tensor | None:
        """How long the components are, where there are gaps between them; otherwise None.

        Example:
            >>> rows = [clew.ones(2), clew.ones(3)]
            >>> clew.nested.nested_tensor(rows, layout=clew.jagged).lengths()
        """
        return self._lengths

    @property
    def _values(self) -> Tensor:
        return self._parts[0]

    @property
    def _offsets(self) -> Tensor:
        offsets: Tensor = self._cuts.offsets
        return offsets

    @property
    def _lengths(self) -> Tensor | None:
        lengths: Tensor | None = self._cuts.lengths
        return lengths

    @property
    def _ragged_idx(self) -> int:
        ragged: int = self._cuts.ragged
        return ragged

    @property
    def _size(self) -> tuple[Any, ...]:
        return tuple(self._cuts.shape(self._parts[0]))

    def __tensor_flatten__(self) -> tuple[list[str], dict[str, Any]]:
        """The names of its parts, and what else it is made of."""
        names = ["_values", "_offsets", *["_lengths"] * (self._lengths is not None)]
        names += [f"_{name}_tensor" for name in ("min_seqlen", "max_seqlen") if name in self._known]
        return names, {"requires_grad": self.requires_grad, "ragged_idx": self._ragged_idx}

    @staticmethod
    def __tensor_unflatten__(
        inner_tensors: dict[str, Any], meta: dict[str, Any], outer_size: Any, outer_stride: Any
    ) -> NestedTensor:
        """A nested tensor of such parts."""
        known = {
            name: inner_tensors.get(f"_{name}_tensor") for name in ("min_seqlen", "max_seqlen")
        }
        return NestedTensor(
            inner_tensors["_values"], inner_tensors["_offsets"],
            lengths=inner_tensors.get("_lengths"), requires_grad=meta["requires_grad"],
            _ragged_idx=meta["ragged_idx"], _metadata_cache=known,
        )  # fmt: skip

    @property
    def _known(self) -> dict[str, int]:
        known: dict[str, int] = self._cuts.known
        return known

    @property
    def _min_seqlen_tensor(self) -> Tensor | None:
        return self._metadata_cache.get("min_seqlen")

    @property
    def _max_seqlen_tensor(self) -> Tensor | None:
        return self._metadata_cache.get("max_seqlen")

    @property
    def _metadata_cache(self) -> dict[str, Tensor]:
        """What is known of the lengths; PyTorch keeps a number as the size of an empty tensor."""
        return {name: constant(np.empty((n, 0), np.float32)) for name, n in self._known.items()}

    def _get_max_seqlen(self) -> int:
        """The greatest length of a component."""
        length: int = self._cuts.extreme("max_seqlen")
        return length

    def _get_min_seqlen(self) -> int:
        """The least length of a component."""
        length: int = self._cuts.extreme("min_seqlen")
        return length

    _max_seqlen = property(_get_max_seqlen)
    _min_seqlen = property(_get_min_seqlen)

    @property
    def _maybe_max_seqlen(self) -> int | None:
        return self._known.get("max_seqlen")

    @property
    def _maybe_min_seqlen(self) -> int | None:
        return self._known.get("min_seqlen")


class PiecewiseTensor(Nested):
    """A nested tensor in the strided layout: components of the same number of dimensions."""

    __slots__ = ()

    TABLE: ClassVar[dict[str, Rule]] = {}

    @staticmethod
    def rules(own: Override, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return PiecewiseTensor.run(own, args, kwargs)

    def __iter__(self) -> Iterator[Tensor]:
        len(self)  # which says that there is no such size
        return iter(components(self))

    def _nested_tensor_size(self) -> Tensor:
        """The sizes of the components, one in each row."""
        return constant(np.array(self._cuts.shapes, np.int64))

    def _nested_tensor_strides(self) -> Tensor:
        """Their strides, one in each row."""
        rows = [
            [math.prod(shape[dim + 1 :]) for dim in range(len(shape))]
            for shape in self._cuts.shapes
        ]
        return constant(np.array(rows, np.int64))

    def _nested_tensor_storage_offsets(self) -> Tensor:
        """Where each of them begins among the values."""
        return constant(np.array([0, *np.cumsum(self._cuts.sizes)[:-1]], np.int64))

    @staticmethod
    def refusal(name: str) -> NotImplementedError:
        return NotImplementedError(
            f"Could not run 'aten::{name}' with arguments from the 'NestedTensorCPU' backend. "
            "Nested tensors of the strided layout do not have it, those of layout=torch.jagged have"
            " more; `unbind()` and `to_padded_tensor(...)` give strided tensors."
            + errors.at_user_line()
        )


for _name in ("__name__", "__qualname__", "__module__"):
    setattr(PiecewiseTensor, _name, getattr(Tensor, _name))
NestedTensor.__module__ = "torch.nested._internal.nested_tensor"


# -- tables ----------------------------------------------------------------------------------------

JAGGED, STRIDED = NestedTensor.TABLE, PiecewiseTensor.TABLE


def jagged(*names: str) -> Callable[[F], F]:
    """Make a function the rule of others of these names for the jagged layout.

    A rule gets the function as it is for strided tensors, then the arguments.
    """
    return _entering(names, JAGGED)


def strided(*names: str) -> Callable[[F], F]:
    """The same for the strided layout."""
    return _entering(names, STRIDED)


def both(*names: str) -> Callable[[F], F]:
    """The same for both."""
    return _entering(names, JAGGED, STRIDED)


def _entering(names: tuple[str, ...], *tables: dict[str, Rule]) -> Callable[[F], F]:
    def enter(function: F) -> F:
        for table in tables:
            table.update(dict.fromkeys(names, function))
        return function

    return enter


# Functions that need no rule: they ask for nothing but history and dtype, or call others.
AS_WRITTEN = {
    "requires_grad", "requires_grad.__set__", "requires_grad_", "grad", "grad.__set__", "grad_fn",
    "is_leaf", "backward", "retain_grad", "retains_grad", "register_hook", "detach", "output_nr",
    "register_post_accumulate_grad_hook", "dtype", "device", "itemsize", "element_size", "_version",
    "is_floating_point", "is_complex", "is_signed", "is_cuda", "is_cpu", "is_meta", "is_sparse",
    "is_sparse_csr", "is_quantized", "is_mps", "is_xpu", "is_mkldnn", "is_inference", "is_conj",
    "is_neg", "is_tensor", "get_device", "is_xla", "is_ipu", "is_mtia", "is_maia", "is_vulkan",
    "_base", "_is_view", "_grad_fn", "_backward_hooks", "is_distributed", "grad_dtype",
    "result_type", "softmin",
}  # fmt: skip


def is_nested(value: Any) -> bool:
    """Whether a value is a nested tensor of either layout."""
    return isinstance(value, Tensor) and type(value) in (NestedTensor, PiecewiseTensor)


def first_nested(values: Iterable[Any]) -> Any:
    """The first nested tensor among some values, or in a list among them."""
    for value in values:
        for each in value if isinstance(value, (list, tuple)) else (value,):
            if is_nested(each):
                return each
    return None


# -- values and back -------------------------------------------------------------------------------


def of_values(values: Tensor, cuts: Any) -> Tensor:
    """A nested tensor without history that shares the memory of its values."""
    part = values if values._node is None and not values.requires_grad else values.detach()
    kind = NestedTensor if type(cuts) is Jagged else PiecewiseTensor
    result: Any = blank(kind, cuts.stand_in(part), part._layout.dtype)
    result._kind = layouts.jagged if kind is NestedTensor else layouts.strided
    result._parts, result._cuts = (part,), cuts
    made: Tensor = result
    return made


class _ValuesOp(LayoutOp):
    """The values share memory with the nested tensor."""

    def compute(self, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        return inputs[0]._parts[0].detach()


NESTED = LayoutOp(
    "nested_view_from_values", lambda values, *, cuts: of_values(values, cuts),
    grads={"values": lambda g, cuts: values_of(g)},
    node="NestedViewFromJaggedBackward0",
)  # fmt: skip
VALUES = _ValuesOp(
    "nested_get_values", lambda self, *, cuts: self._parts[0],
    grads={"self": lambda g, cuts: nested(g, cuts)},
    node="NestedGetValuesBackward0",
)  # fmt: skip


def nested(values: Tensor, cuts: Any) -> Tensor:
    """The nested tensor of values; gradients lead through it."""
    result: Tensor = NESTED(values, cuts=cuts)
    return result


def values_of(tensor: Any) -> Tensor:
    """The values of a nested tensor; gradients lead through them."""
    if not tensor._requires_grad:
        part: Tensor = tensor._parts[0]
        return part
    result: Tensor = VALUES(tensor, cuts=tensor._cuts)
    return result


def components(tensor: Any, as_batches: bool = False) -> tuple[Tensor, ...]:
    """The tensors of the batch, as views of the values; each, in the jagged layout, as a batch."""
    cuts, values = tensor._cuts, values_of(tensor)
    if type(cuts) is Pieces:
        pieces = values.split(cuts.sizes)
        return tuple(piece.view(shape) for piece, shape in zip(pieces, cuts.shapes, strict=True))
    along = cuts.ragged - 1
    if as_batches:
        values, along = values.unsqueeze(0), along + 1
    sizes = cuts.sizes.tolist()
    if cuts.lengths is None:
        parts: tuple[Tensor, ...] = values.split(sizes, along)
        return parts
    places = zip(cuts.starts.tolist(), sizes, strict=True)
    return tuple(values.narrow(along, start, size) for start, size in places)


def of_components(tensors: Sequence[Tensor], is_contiguous: bool = True) -> Tensor:
    """A nested tensor of the strided layout with copies of some tensors."""
    values = cat([each.reshape(-1) for each in tensors]) if tensors else constant(np.zeros(0))
    return nested(values, Pieces([each._layout.shape for each in tensors], is_contiguous))


def each(tensor: Any, function: Callable[[Tensor], Tensor], is_contiguous: bool = True) -> Tensor:
    """The nested tensor, of the strided layout, of what a function makes of each component."""
    made = [function(component) for component in components(tensor)]
    return of_components(made, is_contiguous)


def constant(array: np.ndarray) -> Tensor:
    """A strided tensor of an array, without history."""
    return wrap(np.ascontiguousarray(array))


def contiguous_only(tensor: Any, schema: str, argument: str) -> None:
    """Refuse components with gaps, or ragged elsewhere than after the batch."""
    cuts = tensor._cuts
    if type(cuts) is Jagged and (cuts.lengths is not None or cuts.ragged != 1):
        raise ValueError(
            f"NestedTensor {schema}: expected {argument} to be a contiguous jagged layout "
            "NestedTensor\n  Its ragged dimension must be 1, without gaps between components."
            + errors.at_user_line()
        )
