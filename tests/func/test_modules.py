"""Modules inside transforms: mapped over inputs, and over parameters as ensembles are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clew
from clew import nn
from clew.func import functional_call, grad, stack_module_state, vmap
from clew.utils.checkpoint import checkpoint

F64 = clew.float64


def first(value: Any) -> Any:
    return value[0] if isinstance(value, tuple) else value


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.MultiheadAttention(8, 2, batch_first=True, dtype=F64)

    def forward(self, x: Any) -> Any:
        return self.inner(x, x, x, need_weights=False)[0]


class Words(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(10, 4, padding_idx=2, dtype=F64)

    def forward(self, x: Any) -> Any:
        return self.table((x[..., 0].abs() * 3).long() % 10)


# A module, and the shape of one example.
MODULES: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "Linear": (lambda: nn.Linear(4, 3, dtype=F64), (4,)),
    "Linear rows": (lambda: nn.Linear(4, 3, dtype=F64), (2, 4)),
    "Bilinear": (lambda: _Bilinear(), (2, 4)),
    "Conv1d": (lambda: nn.Conv1d(2, 4, 3, padding=1, groups=2, dtype=F64), (1, 2, 8)),
    "Conv2d": (lambda: nn.Conv2d(2, 3, 3, stride=2, dtype=F64), (2, 2, 7, 6)),
    "Conv2d unbatched": (lambda: nn.Conv2d(2, 3, 3, dilation=2, dtype=F64), (2, 7, 6)),
    "Conv2d depthwise": (lambda: nn.Conv2d(2, 4, 3, groups=2, bias=False, dtype=F64), (1, 2, 6, 6)),
    "Conv3d": (lambda: nn.Conv3d(1, 2, 2, dtype=F64), (1, 1, 4, 4, 4)),
    "ConvTranspose2d": (lambda: nn.ConvTranspose2d(2, 3, 3, stride=2, dtype=F64), (2, 2, 4, 4)),
    "BatchNorm2d": (lambda: _no_statistics(), (3, 2, 4, 4)),
    "LayerNorm": (lambda: nn.LayerNorm(4, dtype=F64), (3, 4)),
    "GroupNorm": (lambda: nn.GroupNorm(2, 4, dtype=F64), (2, 4, 3)),
    "InstanceNorm": (lambda: nn.InstanceNorm2d(2, affine=True, dtype=F64), (2, 2, 4, 4)),
    "Embedding": (lambda: Words(), (5, 1)),
    "LSTM": (lambda: nn.LSTM(4, 3, num_layers=2, bidirectional=True, dtype=F64), (5, 2, 4)),
    "LSTM projected": (lambda: nn.LSTM(4, 3, proj_size=2, dtype=F64), (5, 2, 4)),
    "GRU": (lambda: nn.GRU(4, 3, dtype=F64), (5, 2, 4)),
    "RNN": (lambda: nn.RNN(4, 3, nonlinearity="relu", dtype=F64), (5, 2, 4)),
    "LSTMCell": (lambda: nn.LSTMCell(4, 3, dtype=F64), (2, 4)),
    "MultiheadAttention": (Attention, (2, 3, 8)),
    "TransformerEncoderLayer": (
        lambda: nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True, dtype=F64),
        (2, 3, 8),
    ),
    "PReLU": (lambda: nn.PReLU(2, dtype=F64), (3, 2, 4)),
    "pooled": (
        lambda: nn.Sequential(
            nn.Conv2d(1, 2, 3, dtype=F64), nn.ReLU(), nn.MaxPool2d(2), nn.AvgPool2d(2, 1),
            nn.Upsample(scale_factor=2, mode="bilinear"), nn.Flatten(),
            nn.Linear(2 * 16, 3, dtype=F64),
        ),
        (2, 1, 8, 8),
    ),
}  # fmt: skip


class _Bilinear(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Bilinear(4, 4, 3, dtype=F64)

    def forward(self, x: Any) -> Any:
        return self.inner(x, x * 2)


def _no_statistics() -> nn.Module:
    return nn.BatchNorm2d(2, track_running_stats=False, dtype=F64)


def models_and_inputs(name: str) -> tuple[list[nn.Module], Any]:
    make, shape = MODULES[name]
    clew.manual_seed(0)
    models = [make() for _ in range(3)]
    return models, clew.randn(3, *shape, dtype=F64)


def close(actual: Any, expected: Any) -> None:
    np.testing.assert_allclose(
        actual.detach().numpy(), expected.detach().numpy(), rtol=1e-7, atol=1e-9
    )


def loss_of(model: nn.Module) -> Callable[..., Any]:
    def loss(parameters: Any, buffers: Any, x: Any) -> Any:
        out = first(functional_call(model, (parameters, buffers), (x,)))
        return (out * out.detach().cos()).sum()

    return loss


@pytest.mark.parametrize("name", MODULES)
def test_inputs_are_mapped(name: str) -> None:
    models, x = models_and_inputs(name)
    model = models[0]
    close(vmap(lambda a: first(model(a)))(x), clew.stack([first(model(a)) for a in x]))


@pytest.mark.parametrize("name", MODULES)
def test_per_sample_gradients(name: str) -> None:
    models, x = models_and_inputs(name)
    loss = loss_of(models[0])
    parameters = {key: value.detach() for key, value in models[0].named_parameters()}
    buffers = dict(models[0].named_buffers())
    found = vmap(grad(loss), in_dims=(None, None, 0))(parameters, buffers, x)
    expected = [grad(loss)(parameters, buffers, a) for a in x]
    for key, rows in found.items():
        close(rows, clew.stack([each[key] for each in expected]))


@pytest.mark.parametrize("name", MODULES)
def test_ensembles(name: str) -> None:
    models, x = models_and_inputs(name)
    parameters, buffers = stack_module_state(models)
    skeleton = models[0]

    def call(p: Any, b: Any, a: Any) -> Any:
        return first(functional_call(skeleton, (p, b), (a,)))

    together = vmap(call, in_dims=(0, 0, 0))(parameters, buffers, x)
    close(together, clew.stack([first(each(a)) for each, a in zip(models, x, strict=True)]))
    together.square().sum().backward()
    sum(first(each(a)).square().sum() for each, a in zip(models, x, strict=True)).backward()
    for key, stacked in parameters.items():
        close(
            stacked.grad, clew.stack([dict(each.named_parameters())[key].grad for each in models])
        )


def test_ensemble_of_one_input() -> None:
    models, x = models_and_inputs("Conv2d")
    parameters, buffers = stack_module_state(models)
    out = vmap(lambda p, b, a: functional_call(models[0], (p, b), (a,)), in_dims=(0, 0, None))(
        parameters, buffers, x[0]
    )
    close(out, clew.stack([each(x[0]) for each in models]))


def test_checkpoint_inside_transforms() -> None:
    models, x = models_and_inputs("Linear rows")
    model = models[0]

    def plain(a: Any) -> Any:
        return (model(a.sin()).tanh() ** 2).sum()

    def checkpointed(a: Any) -> Any:
        return checkpoint(plain, a, use_reentrant=False)

    func = clew.func
    for transform in (
        lambda f: func.grad(f)(x[0]),
        lambda f: vmap(func.grad(f))(x),
        lambda f: func.grad(lambda a: vmap(f)(a).sum())(x),
        lambda f: func.jacrev(func.jacrev(f))(x[0]),
        lambda f: func.hessian(f)(x[0]),
        lambda f: func.jvp(func.grad(f), (x[0],), (x[1],))[1],
    ):
        close(transform(checkpointed), transform(plain))


class Cube(clew.autograd.Function):
    """x³w and 2x; the rule is generated."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Any, w: Any) -> Any:
        return x**3 * w, x * 2

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx: Any, g: Any, h: Any) -> Any:
        x, w = ctx.saved_tensors
        return g * 3 * x**2 * w + 2 * h, (g * x**3).sum_to_size(w.shape)

    @staticmethod
    def jvp(ctx: Any, tx: Any, tw: Any) -> Any:
        x, w = ctx.saved_tensors
        return 3 * x**2 * w * tx + x**3 * tw, 2 * tx


class OwnCube(Cube):
    """The same with a rule of its own."""

    generate_vmap_rule = False

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Any, w: Any) -> Any:
        x = x.expand(info.batch_size, *x.shape) if in_dims[0] is None else x.movedim(in_dims[0], 0)
        w = w.expand(info.batch_size, *w.shape) if in_dims[1] is None else w.movedim(in_dims[1], 0)
        return OwnCube.apply(x, w), (0, 0)


def plain_cube(x: Any, w: Any) -> Any:
    return x**3 * w, x * 2


@pytest.mark.parametrize("function", [Cube, OwnCube])
@pytest.mark.parametrize(
    "transform",
    [
        lambda f, x, w: vmap(lambda a: f(a, w)[0])(x),
        lambda f, x, w: vmap(lambda a, b: f(a, b)[1] + f(a, b)[0])(x, x.cos()),
        lambda f, x, w: grad(lambda a: f(a, w)[0].sum())(x[0]),
        lambda f, x, w: vmap(
            grad(lambda b, a: f(a, b)[0].sum(), argnums=(0, 1)), in_dims=(None, 0)
        )(w, x),
        lambda f, x, w: grad(
            lambda b, a: vmap(lambda c: f(c, b)[0].sum() * f(c, b)[1].sum())(a).sum(),
            argnums=(0, 1),
        )(w, x),
        lambda f, x, w: clew.func.jvp(lambda a: f(a, w)[0], (x[0],), (x[1],)),
        lambda f, x, w: vmap(lambda a: clew.func.jvp(lambda c: f(c, w)[0], (a,), (a,)))(x),
        lambda f, x, w: clew.func.jvp(vmap(lambda a: f(a, w)[0]), (x,), (x,)),
        lambda f, x, w: vmap(clew.func.jacrev(clew.func.jacrev(lambda a: f(a, w)[0].sum())))(x),
        lambda f, x, w: vmap(lambda a: f(w, w)[0] * a)(x),
    ],
)
def test_custom_functions(transform: Callable[..., Any], function: Any) -> None:
    clew.manual_seed(1)
    x, w = clew.randn(3, 4, dtype=F64), clew.randn(4, dtype=F64)
    found, expected = transform(function.apply, x, w), transform(plain_cube, x, w)
    for ours, theirs in zip(
        found if isinstance(found, tuple) else (found,),
        expected if isinstance(expected, tuple) else (expected,),
        strict=True,
    ):
        close(ours, theirs)
