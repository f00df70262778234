"""What function transforms refuse: PyTorch's exceptions and first words, then the way out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import clew

Program = Callable[[Any, Any, Any], Any]
ROWS = np.random.RandomState(0).randn(3, 4)


def _setitem(m: Any, x: Any) -> Any:
    z = m.zeros(4, dtype=m.float64)
    z[0] = x[0]
    return z


def _captured_write(m: Any, F: Any, x: Any) -> Any:
    outside = m.zeros(4, dtype=m.float64)

    def f(a: Any) -> Any:
        outside.add_(a.sum())
        return a.sum()

    return F.grad(f)(x[0])


def _leak(m: Any, F: Any, x: Any) -> Any:
    kept: list[Any] = []
    F.vmap(lambda a: (kept.append(a), a)[1])(x)
    return kept[0] + 1


class _Old:
    """A custom function in the old style, and one without a rule."""

    @staticmethod
    def make(m: Any, with_context: bool) -> Any:
        if not with_context:

            class Same(m.autograd.Function):
                @staticmethod
                def forward(ctx: Any, x: Any) -> Any:
                    return x.clone()

                @staticmethod
                def backward(ctx: Any, g: Any) -> Any:
                    return g

            return Same

        class Twice(m.autograd.Function):
            @staticmethod
            def forward(x: Any) -> Any:
                return x * 2

            @staticmethod
            def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
                pass

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                return g * 2

        return Twice


# (program, leading words that agree)
REFUSED: dict[str, tuple[Program, int]] = {
    "item": (lambda m, F, x: F.vmap(lambda a: a.sum().item())(x), 20),
    "if": (lambda m, F, x: F.vmap(lambda a: a if a.sum() > 0 else -a)(x), 13),
    "nonzero": (lambda m, F, x: F.vmap(lambda a: a.nonzero())(x), 17),
    "unique": (lambda m, F, x: F.vmap(lambda a: a.unique())(x), 17),
    "mask": (lambda m, F, x: F.vmap(lambda a: a[a > 0])(x), 20),
    "write to a new tensor": (lambda m, F, x: F.vmap(lambda a: m.zeros(4).copy_(a))(x), 15),
    "setitem of a new tensor": (lambda m, F, x: F.vmap(lambda a: _setitem(m, a))(x), 15),
    "in_dims too short": (lambda m, F, x: F.vmap(lambda a, b: a, in_dims=(0,))(x, x), 8),
    "sizes differ": (lambda m, F, x: F.vmap(lambda a, b: a)(x, x.T), 10),
    "in_dim out of range": (lambda m, F, x: F.vmap(lambda a: a, in_dims=5)(x), 20),
    "in_dims None": (lambda m, F, x: F.vmap(lambda a: a, in_dims=None)(x), 12),
    "all None": (lambda m, F, x: F.vmap(lambda a: a, in_dims=(None,))(x), 2),
    "in_dims of a wrong type": (lambda m, F, x: F.vmap(lambda a: a, in_dims="a")(x), 12),
    "number as argument": (lambda m, F, x: F.vmap(lambda a: a)(3), 12),
    "no argument": (lambda m, F, x: F.vmap(lambda a: a)(), 10),
    "number as result": (lambda m, F, x: F.vmap(lambda a: 3)(x), 12),
    "out_dims too short": (lambda m, F, x: F.vmap(lambda a: (a, a), out_dims=(0,))(x), 8),
    "out_dim out of range": (lambda m, F, x: F.vmap(lambda a: a, out_dims=3)(x), 10),
    "batched result for None": (lambda m, F, x: F.vmap(lambda a: a, out_dims=None)(x), 3),
    "randomness": (lambda m, F, x: F.vmap(lambda a: a + m.rand(4))(x), 20),
    "unknown randomness": (lambda m, F, x: F.vmap(lambda a: a, randomness="foo")(x), 10),
    "chunk_size": (lambda m, F, x: F.vmap(lambda a: a, chunk_size=0)(x), 8),
    "escaped": (_leak, 14),
    "backward inside": (lambda m, F, x: F.vmap(lambda a: a.sum().backward())(x), 15),
    "grad of a vector": (lambda m, F, x: F.grad(lambda a: a)(x[0]), 15),
    "grad of a tuple": (lambda m, F, x: F.grad(lambda a: (a, a))(x[0]), 8),
    "grad of a number": (lambda m, F, x: F.grad(lambda a: 3)(x[0]), 8),
    "argnum out of range": (lambda m, F, x: F.grad(lambda a: a.sum(), argnums=3)(x), 6),
    "argnums of a wrong type": (lambda m, F, x: F.grad(lambda a: a.sum(), argnums="s")(x), 8),
    "number to differentiate by": (lambda m, F, x: F.grad(lambda a: a)(3), 10),
    "aux missing": (lambda m, F, x: F.grad(lambda a: a.sum(), has_aux=True)(x), 10),
    "integers": (lambda m, F, x: F.grad(lambda a: a.sum())(m.ones(3, dtype=m.int64)), 8),
    "captured write": (_captured_write, 15),
    "jvp structures": (lambda m, F, x: F.jvp(lambda a: a, (x,), (x, x)), 12),
    "jvp without tuple": (lambda m, F, x: F.jvp(lambda a: a, x, x), 8),
    "jvp shapes": (lambda m, F, x: F.jvp(lambda a: a, (x,), (x[0],)), 15),
    "jacrev of a number": (lambda m, F, x: F.jacrev(lambda a: 3)(x), 10),
    "jacfwd of a number": (lambda m, F, x: F.jacfwd(lambda a: 3)(x), 10),
    "vjp shapes": (lambda m, F, x: F.vjp(lambda a: a.sin(), x)[1](x[0]), 8),
    "function without context": (
        lambda m, F, x: F.vmap(_Old.make(m, False).apply)(x), 15,
    ),
    "function without a rule": (
        lambda m, F, x: F.vmap(_Old.make(m, True).apply)(x), 8,
    ),
}  # fmt: skip


def _error(m: Any, program: Program) -> Exception:
    with pytest.raises(Exception) as caught:  # the type is what is compared
        program(m, m.func, m.tensor(ROWS))
    return caught.value


@pytest.mark.parametrize("name", REFUSED)
def test_refused_in_pytorchs_words(name: str) -> None:
    program, words = REFUSED[name]
    ours, theirs = _error(clew, program), _error(torch, program)
    assert type(ours) is type(theirs), (ours, theirs)
    assert str(ours).split()[:words] == str(theirs).split()[:words]


def _text(program: Program) -> str:
    return str(_error(clew, program))


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("item", "outside of vmap"),
        ("if", "torch.where"),
        ("nonzero", "torch.where"),
        ("mask", "masked_fill"),
        ("setitem of a new tensor", "new_zeros"),
        ("escaped", "Return it"),
        ("backward inside", "func.grad"),
    ],
)
def test_errors_name_the_line_and_a_way_out(name: str, advice: str) -> None:
    text = _text(REFUSED[name][0])
    assert advice in text
    assert "test_errors.py" in text


@pytest.mark.parametrize(
    "look",
    [
        lambda a: a.tolist(),
        lambda a: a.numpy(),
        lambda a: np.asarray(a),
        lambda a: float(a.sum()),
        lambda a: int(a.sum()),
        lambda a: list(range(a.sum().long())),
        lambda a: a.allclose(a),
        lambda a: a.data_ptr() and a.sum().item(),
    ],
)
def test_values_cannot_be_looked_at(look: Callable[[Any], Any]) -> None:
    with pytest.raises(RuntimeError, match="vmap"):
        clew.vmap(look)(clew.ones(3, 4))


def test_a_batched_tensor_shows_all_examples() -> None:
    seen: list[str] = []
    clew.vmap(lambda a: (seen.append(str(a)), a)[1])(clew.arange(3.0))
    assert seen[0].startswith("BatchedTensor(lvl=1, bdim=0, value=\n    tensor([0., 1., 2.])")


def test_in_place_on_a_captured_tensor_that_is_shared() -> None:
    shared = clew.zeros(4)
    with pytest.raises(RuntimeError, match="inplace arithmetic"):
        clew.vmap(lambda a: shared.add_(a))(clew.ones(3, 4))
    clew.vmap(lambda a: a + shared.add_(1))(clew.ones(3, 4))
    assert shared.tolist() == [1.0] * 4


def test_random_writes() -> None:
    x = clew.ones(3, 4)
    with pytest.raises(RuntimeError, match="randomness error mode"):
        clew.vmap(lambda a: a.clone().normal_())(x)
    with pytest.raises(RuntimeError, match="different inplace randomness"):
        clew.vmap(lambda a: a + clew.empty(4).normal_(), randomness="different")(x)
    rows = clew.vmap(lambda a: a.clone().normal_(), randomness="different")(x)
    assert len({tuple(row) for row in rows.tolist()}) == 3


def test_state_is_restored_after_an_error() -> None:
    for transform in (clew.vmap, clew.func.grad, clew.func.jacfwd, clew.func.hessian):
        with pytest.raises(ZeroDivisionError):
            transform(lambda a: a.sum() / (1 // 0))(clew.ones(3))
    x = clew.ones(3, requires_grad=True)
    (x * x).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [2.0] * 3


def test_stack_module_state_wants_modules_of_one_kind() -> None:
    def modules(m: Any) -> list[Any]:
        return [m.nn.Linear(2, 3), m.nn.Linear(2, 3)]

    for change in (
        lambda m: m.func.stack_module_state([]),
        lambda m: m.func.stack_module_state([*modules(m), m.nn.ReLU()]),
        lambda m: m.func.stack_module_state([modules(m)[0].eval(), modules(m)[0]]),
    ):
        errors = []
        for m in (clew, torch):
            with pytest.raises(RuntimeError) as caught:
                change(m)
            errors.append(str(caught.value))
        assert errors[0].split()[:5] == errors[1].split()[:5]
