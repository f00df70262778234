"""Counting floating-point operations of products, convolutions and attention, and of backward."""

from __future__ import annotations

import math
import warnings
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from clew.core.state import local
from clew.core.tensor import Tensor
from clew.ops.aten import packet
from clew.ops.namespaces import OpOverloadPacket
from clew.utils._python_dispatch import OpCall, TorchDispatchMode
from clew.utils.module_tracker import ModuleTracker

__all__ = ["FlopCounterMode", "register_flop_formula"]

Formula = Callable[..., int]
Counts = dict[OpOverloadPacket, int]

_UNITS = ("", "K", "M", "B", "T", "P", "E")

# By the name of an operation, from its arguments and result to a number.
_FORMULAS: dict[str, Formula] = {}


def _counts(*names: str) -> Callable[[Formula], Formula]:
    def register(formula: Formula) -> Formula:
        _FORMULAS.update(dict.fromkeys(names, formula))
        return formula

    return register


@_counts("mm", "bmm")
def _product(a: Tensor, b: Tensor, **params: Any) -> int:
    return 2 * math.prod(a._array.shape) * b._array.shape[-1]


@_counts("addmm", "baddbmm")
def _added_product(added: Any, a: Tensor, b: Tensor, **params: Any) -> int:
    return _product(a, b)


@_counts("convolution", "convolution_bias")
def _convolution(input: Tensor, weight: Tensor, *rest: Any, out_val: Any, **params: Any) -> int:
    places = math.prod(out_val._array.shape[2:]) * input._array.shape[0]
    return 2 * places * math.prod(weight._array.shape)


@_counts("convolution_transpose", "convolution_transpose_bias")
def _transposed(input: Tensor, weight: Tensor, *rest: Any, **params: Any) -> int:
    places = math.prod(input._array.shape[2:]) * input._array.shape[0]
    return 2 * places * math.prod(weight._array.shape)


@_counts("convolution_weight")
def _weight_gradient(grad: Tensor, other: Tensor, *, weight_shape: Any, **params: Any) -> int:
    places = math.prod(grad._array.shape[2:]) * grad._array.shape[0]
    return 2 * places * math.prod(weight_shape)


@_counts("_scaled_dot_product_flash_attention_for_cpu")
def _attention(query: Tensor, key: Tensor, value: Tensor, *rest: Any, **params: Any) -> int:
    *batch, queries, features = query._array.shape
    keys, out_features = value._array.shape[-2:]
    return 2 * math.prod(batch) * queries * keys * (features + out_features)


def register_flop_formula(targets: Any, get_raw: bool = False) -> Callable[[Formula], Formula]:
    """A decorator for a formula that counts the operations of `torch.ops.aten` names.

    Args:
        targets: a name, or a list of them
        get_raw: whether the formula gets the arguments and `out_val`; otherwise it gets their
            shapes and `out_shape`

    Example:
        >>> from clew.utils.flop_counter import FlopCounterMode, register_flop_formula
        >>> from clew.ops import aten
        >>> @register_flop_formula(aten.exp)
        ... def exp_flops(shape, *, out_shape, **kwargs):
        ...     return shape[0]
        >>> with FlopCounterMode(display=False) as counter:
        ...     y = clew.ones(5).exp()
        >>> counter.get_total_flops()
        5
    """
    listed = targets if isinstance(targets, (list, tuple)) else [targets]

    def register(formula: Formula) -> Formula:
        counted = formula if get_raw else _of_shapes(formula)
        for target in listed:
            _FORMULAS[str(target).removeprefix("aten.").partition(".")[0]] = counted
        return formula

    return register


def _of_shapes(formula: Formula) -> Formula:
    def counted(*args: Any, out_val: Any, **kwargs: Any) -> int:
        def shape(value: Any) -> Any:
            if isinstance(value, Tensor):
                return value.shape
            if isinstance(value, (list, tuple)):
                return [shape(each) for each in value]
            return value

        return formula(*map(shape, args), out_shape=shape(out_val), **kwargs)

    return counted


class FlopCounterMode(TorchDispatchMode):
    """Counts the floating-point operations of a block: of products, convolutions and attention.

    A product of an `m x k` and a `k x n` matrix counts `2 * m * k * n`.

    Args:
        mods: not needed any more: modules are found as they run
        depth: how deep the table goes into models; None: all the way
        display: whether to print the counts when the block ends
        custom_mapping: further formulas, by `torch.ops.aten` name

    Example:
        >>> from clew.utils.flop_counter import FlopCounterMode
        >>> layer = nn.Linear(3, 4)
        >>> with FlopCounterMode(display=False) as counter:
        ...     layer(clew.ones(2, 3)).sum().backward()
        >>> counter.get_total_flops()
        96
    """

    def __init__(
        self,
        mods: Any = None,
        depth: int = 2,
        display: bool = True,
        custom_mapping: dict[Any, Formula] | None = None,
    ) -> None:
        if mods is not None:
            warnings.warn(
                "mods argument is not needed anymore, you can stop passing it", stacklevel=2
            )
        super().__init__()
        self.depth, self.display = depth, display
        self.flop_counts: defaultdict[str, Counts] = defaultdict(dict)
        self.mod_tracker = ModuleTracker()
        for target, formula in (custom_mapping or {}).items():
            register_flop_formula(target)(formula)

    def __torch_dispatch__(
        self, func: OpCall, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        result = func(*args, **kwargs)
        name = func.name().removeprefix("aten::")
        formula = _FORMULAS.get(name)
        if formula is not None:
            if name.startswith("convolution"):
                name = "convolution_backward" if local.state.backward_runs else "convolution"
            key = packet(name)
            counted = formula(*args, out_val=result, **kwargs)
            for module in self.mod_tracker.parents:
                counts = self.flop_counts[module]
                counts[key] = counts.get(key, 0) + counted
        return result

    def get_flop_counts(self) -> dict[str, dict[OpOverloadPacket, int]]:
        """The counts by module and operation; those of the whole block are under "Global"."""
        return {module: dict(counts) for module, counts in self.flop_counts.items()}

    def get_total_flops(self) -> int:
        """The sum of all counts."""
        return sum(self.flop_counts["Global"].values())

    def get_table(self, depth: int | None = None) -> str:
        """The counts as a table, by module and operation.

        Args:
            depth: how deep it goes into models; that of the counter unless given
        """
        depth = self.depth if depth is None else depth
        total = self.get_total_flops()
        unit = _unit(total)
        modules = sorted(each for each in self.flop_counts if each != "Global")
        shown = [each for each in modules if depth is None or each.count(".") < depth]
        # All that happens may have happened in a module.
        if not any(sum(self.flop_counts[each].values()) >= total for each in shown):
            shown.insert(0, "Global")
        rows = [("Module", "FLOP", "% Total")]
        for module in shown:
            counts = self.flop_counts[module]
            indent = " " * (module.count(".") + (shown[0] == "Global" != module))
            listed = [(module, sum(counts.values())), *((f" - {k}", n) for k, n in counts.items())]
            for name, count in listed:
                share = f"{100 * count / total:.2f}%" if total else "0%"
                rows.append((indent + name, _scaled(count, unit), share))
        first, second, third = (max(map(len, column)) for column in zip(*rows, strict=True))
        rows.insert(1, ("-" * first, "-" * second, "-" * third))
        return "\n".join(
            f"{name:{first}}  {count:>{second}}  {share:>{third}}" for name, count, share in rows
        )

    def __enter__(self) -> Any:
        self.flop_counts.clear()
        self.mod_tracker.__enter__()
        return super().__enter__()

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:
        super().__exit__(exc_type, exc_val, exc_tb)
        self.mod_tracker.__exit__()
        if self.display:
            print(self.get_table())


def _unit(total: int) -> int:
    """Which power of 1000 a total is given in: it has two digits or more before the point."""
    return min(len(_UNITS) - 1, max(0, (len(str(total)) - 2) // 3))


def _scaled(count: int, unit: int) -> str:
    return f"{count / 1000**unit:.3f}{_UNITS[unit]}" if unit else str(count)
