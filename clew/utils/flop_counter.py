"""Counting floating-point operations of products, convolutions and attention, and of backward."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from clew.core.state import local
from clew.core.tensor import Tensor
from clew.ops.aten import packet
from clew.ops.namespaces import OpOverloadPacket
from clew.utils._python_dispatch import OpCall, TorchDispatchMode

__all__ = ["FlopCounterMode", "register_flop_formula"]

Formula = Callable[..., int]

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

    A product of an `m x k` and a `k x n` matrix counts `2 * m * k * n`. Counts are not told apart
    by module.

    Args:
        mods: ignored: PyTorch finds modules itself, too
        depth: ignored, as modules are not told apart
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
        super().__init__()
        self.display = display
        self.flop_counts: dict[OpOverloadPacket, int] = {}
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
            self.flop_counts[key] = self.flop_counts.get(key, 0) + counted
        return result

    def get_flop_counts(self) -> dict[str, dict[OpOverloadPacket, int]]:
        """The counts, by operation, as those of the whole block."""
        return {"Global": dict(self.flop_counts)}

    def get_total_flops(self) -> int:
        """The sum of all counts."""
        return sum(self.flop_counts.values())

    def get_table(self, depth: int | None = None) -> str:
        """The counts as a table.

        Args:
            depth: ignored, as modules are not told apart
        """
        total = self.get_total_flops()
        rows = [("Module", "FLOP", "% Total"), ("Global", str(total), "100.00%")]
        for key, count in self.flop_counts.items():
            rows.append((f" - {key}", str(count), f"{100 * count / total:.2f}%"))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        rows.insert(1, tuple("-" * width for width in widths))  # type: ignore[arg-type]  # three
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        )

    def __enter__(self) -> Any:
        self.flop_counts = {}
        return super().__enter__()

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:
        super().__exit__(exc_type, exc_val, exc_tb)
        if self.display:
            print(self.get_table())
