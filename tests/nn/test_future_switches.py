"""`clew.__future__`: how modules replace their parameters, and `swap_tensors`."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.twice import raised, twice


@contextmanager
def switched(lib: Any, name: str) -> Iterator[None]:
    getattr(lib.__future__, f"set_{name}_module_params_on_conversion")(True)
    try:
        yield
    finally:
        getattr(lib.__future__, f"set_{name}_module_params_on_conversion")(False)


def _layer(lib: Any) -> Any:
    layer = lib.nn.Linear(2, 3)
    layer(lib.ones(1, 2)).sum().backward()
    layer.weight.mark = 5
    return layer


def _converted(lib: Any) -> Any:
    layer = _layer(lib)
    weight, grad = layer.weight, layer.weight.grad
    layer.double()
    return [
        layer.weight is weight, layer.weight.grad is grad, weight.dtype, grad.dtype,
        layer.weight.dtype, layer.weight.grad.dtype, type(layer.weight).__name__,
        hasattr(layer.weight, "mark"), layer.weight.requires_grad, layer.bias.is_leaf,
        layer(lib.ones(1, 2, dtype=lib.float64)).sum(),
    ]  # fmt: skip


@twice
def test_conversion(lib: Any) -> Any:
    seen = [_converted(lib)]
    for name in ("overwrite", "swap"):
        with switched(lib, name):
            seen.append(_converted(lib))
    # What goes by a name of its own has no common dtype to compare.
    return [[str(each) for each in row[:-1]] + row[-1:] for row in seen]


@twice
def test_views_and_versions_when_parameters_are_overwritten(lib: Any) -> Any:
    with switched(lib, "overwrite"):
        layer = _layer(lib)
        part, version = layer.weight[:], layer.weight._version
        before = layer.weight
        layer.double()
        same = part._base is before, str(part.dtype), before._version - version
        layer = _layer(lib)
        square = layer.weight * layer.weight
        layer._apply(lambda t: t.add_(1.0))
        return [*same, raised(square.sum().backward, words=10)]


@twice
def test_backward_after_a_swap_is_refused(lib: Any) -> Any:
    with switched(lib, "swap"):
        layer = lib.nn.Linear(2, 3)
        out = layer(lib.ones(1, 2))
        layer.half()
        refused = raised(out.sum().backward)
        again = layer(lib.ones(1, 2).half())
        again.sum().backward()
        layer.float()
        layer(lib.ones(1, 2)).sum().backward()
        return [refused, layer.weight.grad]


@twice
def test_loading_swaps(lib: Any) -> Any:
    class Doubling(lib.nn.Parameter):  # type: ignore[misc, name-defined]  # of either library
        def module_load(self, other: Any, assign: bool = False) -> Any:
            return other.detach() * 2

    class Same(lib.nn.Parameter):  # type: ignore[misc, name-defined]  # of either library
        def module_load(self, other: Any, assign: bool = False) -> Any:
            return other

    seen: list[Any] = []
    with switched(lib, "swap"):
        for assign in (False, True):
            layer, source = lib.nn.Linear(2, 2), lib.nn.Linear(2, 2)
            layer.bias = Doubling(lib.ones(2))
            weight, bias = layer.weight, layer.bias
            layer.load_state_dict(source.state_dict(), assign=assign)
            seen += [
                layer.weight is weight, layer.bias is bias, weight, bias, source.bias,
                weight.requires_grad,
                weight.data_ptr() == source.weight.data_ptr(), type(bias).__name__,
            ]  # fmt: skip
        layer.bias = Same(lib.ones(2))
        problem = raised(layer.load_state_dict, source.state_dict())
    return [*seen, problem]


@twice
def test_swap_tensors(lib: Any) -> Any:
    x, y = lib.zeros(2, requires_grad=True), lib.nn.Parameter(lib.ones(3))
    x.mark = 1
    x.grad = lib.ones(2)
    lib.utils.swap_tensors(x, y)
    watched = lib.zeros(1)
    reference = weakref.ref(watched)
    z = x * 2
    leaf = lib.ones(2, requires_grad=True)
    w = leaf * 3
    lib.utils.swap_tensors(z, w)

    class Slotted(lib.Tensor):  # type: ignore[misc, name-defined]  # of either library
        __slots__ = ("extra",)

    return [
        x, y, type(x).__name__, type(y).__name__, y.mark, hasattr(x, "mark"), y.grad, x.grad,
        raised(lib.utils.swap_tensors, watched, lib.ones(1)), reference() is watched, z, w,
        raised(lib.utils.swap_tensors, lib.ones(1), Slotted([1.0])),
        lib.autograd.grad(w.sum(), x),
    ]  # fmt: skip


@twice
def test_modules_can_be_converted_again_while_an_old_graph_lives(t: Any) -> Any:
    layer = t.nn.Linear(2, 1)
    out = layer(t.ones(3, 2))
    out.sum().backward()
    with switched(t, "swap"):
        before = [each._cdata for each in layer.parameters()]
        for dtype in (t.float16, t.float32, t.float64):
            layer.to(dtype=dtype)
        after = [each._cdata for each in layer.parameters()]
    layer.float()
    return set(before) & set(after), after == [each._cdata for each in layer.parameters()]
