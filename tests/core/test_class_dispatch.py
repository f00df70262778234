"""`__torch_dispatch__` of tensor classes, and fake tensors, against PyTorch's."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
import torch

import clew


def _wrapper(library: Any, log: list[str]) -> Any:
    """A class whose objects hold a tensor, and which passes operations on to it."""
    trees = importlib.import_module(f"{library.__name__}.utils._pytree")
    dispatch = importlib.import_module(f"{library.__name__}.utils._python_dispatch")

    class Wrapper(library.Tensor):
        __torch_function__ = library._C._disabled_torch_function_impl

        @staticmethod
        def __new__(cls: Any, held: Any, requires_grad: bool = False) -> Any:
            return library.Tensor._make_wrapper_subclass(
                cls, held.size(), strides=held.stride(), dtype=held.dtype, device=held.device,
                requires_grad=requires_grad,
            )  # fmt: skip

        def __init__(self, held: Any, requires_grad: bool = False) -> None:
            self.held = held

        def __repr__(self, *, tensor_contents: Any = None) -> str:
            return f"Wrapper({self.held})"

        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None):
            log.append(func.__name__.partition(".")[0])
            inner = trees.tree_map(lambda x: x.held if isinstance(x, Wrapper) else x, args)
            result = func(*inner, **(kwargs or {}))
            wrapped = trees.tree_map(
                lambda x: Wrapper(x) if isinstance(x, library.Tensor) else x, result
            )
            return dispatch.return_and_correct_aliasing(func, args, kwargs or {}, wrapped)

    return Wrapper


def _forward_and_backward(t: Any) -> Any:
    log: list[str] = []
    Wrapper = _wrapper(t, log)
    t.manual_seed(0)
    x, w = Wrapper(t.randn(3, 4), requires_grad=True), Wrapper(t.randn(4, 2))
    y = (x @ w).relu().sum()
    facts = [type(y).__name__, y.grad_fn.name(), x.shape, x.device, x.stride()]
    y.backward()
    return facts, type(x.grad).__name__, x.grad.held, {"mm", "relu", "sum"} <= set(log)


def _views_and_writes(t: Any) -> Any:
    Wrapper = _wrapper(t, [])
    x = Wrapper(t.arange(6.0).reshape(2, 3))
    y = Wrapper(t.ones(2))
    y.add_(1).mul_(y)
    return str(x.t()[0]), str(y), str(x.detach()), str(t.cat([x, x])), str(t.ones_like(y))


def _parameters(t: Any) -> Any:
    weight = t.nn.Parameter(_wrapper(t, [])(t.ones(2, 3)))
    out = t.nn.functional.linear(t.ones(1, 3), weight)
    out.sum().backward()
    return type(weight).__name__, weight.requires_grad, str(out.detach()), str(weight.grad)


def _second_gradients(t: Any) -> Any:
    x = _wrapper(t, [])(t.tensor([1.0, 2.0]), requires_grad=True)
    (g,) = t.autograd.grad((x**3).sum(), x, create_graph=True)
    (h,) = t.autograd.grad(g.sum(), x)
    return str(h)


def _declined(t: Any) -> Any:
    class Nothing(t.Tensor):
        __torch_function__ = t._C._disabled_torch_function_impl

        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None):
            return NotImplemented

    x = t.Tensor._make_wrapper_subclass(Nothing, (2,))
    try:
        t.add(x, 1)
    except TypeError as error:
        return str(error)[:24]


PROGRAMS = [_forward_and_backward, _views_and_writes, _parameters, _second_gradients, _declined]


@pytest.mark.parametrize("program", PROGRAMS)
def test_wrappers(program: Any) -> None:
    assert repr(program(clew)) == repr(program(torch))


def _tried(function: Any) -> str:
    try:
        return repr(function())
    except Exception as error:
        return type(error).__name__


def _faked(t: Any) -> list[Any]:
    fake = importlib.import_module(f"{t.__name__}._subclasses.fake_tensor")
    seen: list[Any] = []
    with fake.FakeTensorMode() as mode:
        x = t.randn(3, 4)
        model = t.nn.Sequential(t.nn.Linear(4, 5), t.nn.ReLU(), t.nn.Linear(5, 2))
        out = model(x)
        out.sum().backward()
        seen += [x, x.device, out.shape, model[0].weight.grad.shape, type(model[0].weight).__name__]
        seen += map(_tried, (
            lambda: x.sum().item(), lambda: bool(x.sum() > 0), x.nonzero, lambda: t.arange(5) + 1,
            lambda: t.cat([x, x]), lambda: x.add_(1), lambda: t.zeros(2, 3)[0],
        ))  # fmt: skip
    held = mode.from_tensor(t.ones(2, 3).t())
    seen += [held, held.stride(), held.device, held * 2, t.ones(2), fake.is_fake(held)]
    return seen


def test_fake_tensors() -> None:
    assert repr(_faked(clew)) == repr(_faked(torch))


def test_fake_mode_is_known() -> None:
    mode = clew._subclasses.FakeTensorMode()
    assert clew._guards.active_fake_mode() is None
    with mode:
        assert clew._guards.active_fake_mode() is mode
        assert clew._guards.detect_fake_mode([clew.ones(2)]) is mode
    assert not clew._subclasses.fake_tensor.is_fake(clew.ones(2))


def _made_inside_of_a_function(t: Any) -> Any:
    """The first object of a class that takes over operations, made where none was alive."""
    Wrapper = _wrapper(t, [])

    class Wrap(t.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return Wrapper(x.detach())

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad.held

    leaf = t.ones(2, requires_grad=True)
    wrapped = Wrap.apply(leaf)
    result = wrapped.exp() * wrapped
    result.sum().backward()
    return type(result).__name__, leaf.grad


def _with_sparse_tensors(t: Any) -> Any:
    """Sparse tensors while a wrapper, or a tensor of the meta device, is alive."""
    alive = _wrapper(t, [])(t.ones(2)), t.ones(2, device="meta")
    x = t.eye(2).to_sparse()
    return (x * 2 + x).coalesce().values(), x.is_sparse, len(alive)


def _functions_that_give_sparse_tensors(t: Any) -> Any:
    class Sparse(t.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.to_sparse()

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad.to_dense() * 2

    x = t.eye(2).requires_grad_()
    Sparse.apply(x).to_dense().sum().backward()
    return x.grad


def _parts_of_wrappers(t: Any) -> Any:
    Wrapper = _wrapper(t, [])
    x, leaf = Wrapper(t.arange(2.0)), Wrapper(t.ones(2), requires_grad=True)
    facts = [str(x.data), str(x.cpu()), x.to("cpu") is x, type(leaf.data).__name__]
    for wrong in (lambda: leaf.add_(1), lambda: Wrapper(t.arange(2), requires_grad=True)):
        try:
            wrong()
        except RuntimeError as error:
            facts.append(str(error).split(" ")[:6])
    return facts, str(x.square_())


MORE = [
    _made_inside_of_a_function, _with_sparse_tensors, _functions_that_give_sparse_tensors,
    _parts_of_wrappers,
]  # fmt: skip


@pytest.mark.parametrize("program", MORE)
def test_beside_other_parts(program: Any) -> None:
    assert repr(program(clew)) == repr(program(torch))
