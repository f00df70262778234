"""What programs do when an interrupt comes: one scene for each part of clew that keeps state.

A scene is a function without arguments that can be run again and again, and be stopped anywhere.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import clew as torch
from clew.autograd import forward_ad
from clew.autograd.graph import (
    allow_mutation_on_saved_tensors,
    disable_saved_tensors_hooks,
    register_multi_grad_hook,
    saved_tensors_hooks,
)
from clew.core import printing
from clew.nn import functional as F
from clew.nn.utils import parametrizations, parametrize
from clew.profiler import profile, record_function
from clew.utils import checkpoint as checkpoints
from clew.utils.checkpoint import checkpoint
from clew.utils.data import DataLoader, TensorDataset

Scene = Callable[[], None]
SCENES: dict[str, Callable[[], Scene]] = {}


def scene(make: Callable[[], Scene]) -> Callable[[], Scene]:
    SCENES[make.__name__] = make
    return make


def _net(width: int = 8, seed: int = 0) -> torch.nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return torch.nn.Sequential(
            torch.nn.Linear(4, width), torch.nn.ReLU(), torch.nn.Linear(width, 2)
        )


def _check_finite(model: torch.nn.Module) -> None:
    for param in model.parameters():
        assert param.dtype is torch.float32 and torch.isfinite(param).all()
        assert param.grad is None or torch.isfinite(param.grad).all()


# -- the scenes ----------------------------------------------------------------------------------


@scene
def training() -> Scene:
    model = _net()
    optimizers = [
        torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9),
        torch.optim.Adam(model.parameters(), lr=1e-3),
        torch.optim.Adagrad(model.parameters(), lr=1e-3),
    ]
    schedulers = [torch.optim.lr_scheduler.StepLR(each, 10) for each in optimizers]
    turns = itertools.cycle(zip(optimizers, schedulers, strict=True))
    x, y = torch.ones(6, 4), torch.zeros(6, 2)

    def run() -> None:
        optimizer, scheduler = next(turns)
        assert not optimizer._stepping
        optimizer.zero_grad(set_to_none=False)
        F.mse_loss(model(x), y).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        _check_finite(model)

    return run


@scene
def large_products() -> Scene:
    """Gradients that worker threads make while backward goes on."""
    model = torch.nn.Sequential(*[torch.nn.Linear(256, 256) for _ in range(6)])
    x = torch.ones(128, 256)
    expected: list[Any] = []

    def run() -> None:
        for param in model.parameters():
            param.grad = None
        try:
            model(x).mean().backward()
        finally:
            # Either none or all of it, and nobody writes to it any more.
            for param, whole in zip(model.parameters(), expected):
                assert param.grad is None or torch.equal(param.grad, whole), "half a gradient"
        if not expected:
            expected.extend(param.grad.clone() for param in model.parameters())

    run()
    return run


@torch.no_grad()
def _decorated(x: Any) -> Any:
    return x * 2


@torch.set_grad_enabled(False)
def _decorated_by_switch(x: Any) -> Any:
    return x * 2


@torch.inference_mode()
def _decorated_generator(x: Any) -> Iterator[Any]:
    for _ in range(2):
        yield x * 2


@scene
def modes() -> Scene:
    x = torch.ones(3, requires_grad=True)
    again = torch.no_grad()

    def run() -> None:
        with torch.no_grad():
            with torch.enable_grad():
                y = x * 2
                assert y.requires_grad
            assert not (x * 2).requires_grad
        with again, again:
            assert not (x * 2).requires_grad
        with torch.set_grad_enabled(False):
            assert not (x * 2).requires_grad
        with torch.inference_mode():
            assert not (x * 2).requires_grad
        assert not _decorated(x).requires_grad and not _decorated_by_switch(x).requires_grad
        for each in _decorated_generator(x):
            assert not each.requires_grad and torch.is_grad_enabled()
        with torch.autograd.detect_anomaly(), torch.autograd.set_detect_anomaly(True):
            (x * x).sum().backward()
        with torch.device("cpu"), printing.printoptions(precision=2):
            str(torch.ones(2))
        assert (x * 2).requires_grad

    return run


@scene
def checkpointing() -> Scene:
    model = torch.nn.Sequential(
        torch.nn.Linear(4, 4), torch.nn.Dropout(0.5), torch.nn.Linear(4, 4), torch.nn.Tanh()
    )
    x = torch.ones(3, 4, requires_grad=True)
    turns = itertools.cycle((True, False))

    def run() -> None:
        with checkpoints.set_checkpoint_early_stop(next(turns)):
            y = checkpoint(model, x, use_reentrant=False)
            z = checkpoint(model, y, use_reentrant=True)
        torch.rand(3)
        after_forward = torch.get_rng_state()
        try:
            z.sum().backward()
        finally:
            assert torch.equal(torch.get_rng_state(), after_forward), "the stream has moved"

    return run


class _Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        (x,) = ctx.saved_tensors
        return 3 * x * x * grad


class _Once(torch.autograd.Function):
    @staticmethod
    def forward(x: Any) -> Any:
        return x * 2

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        return None

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * 2


@scene
def custom_functions() -> Scene:
    x = torch.full((3,), 2.0, requires_grad=True)

    def run() -> None:
        first = torch.autograd.grad(_Cube.apply(x).sum(), x, create_graph=True)[0]
        second = torch.autograd.grad(first.sum(), x)[0]
        assert second.tolist() == [12.0] * 3
        x.grad = None
        _Once.apply(_Cube.apply(x)).sum().backward()
        assert x.grad.tolist() == [24.0] * 3

    return run


@scene
def mixed_precision() -> Scene:
    model = _net()
    x = torch.ones(6, 4)
    region = torch.autocast("cpu", dtype=torch.bfloat16)

    @torch.autocast("cpu", dtype=torch.float16)
    def decorated() -> Any:
        return model(x)

    def run() -> None:
        with region:
            out = model(x)
            assert out.dtype is torch.bfloat16
            with torch.autocast("cpu", enabled=False), region:
                assert model(x).dtype is torch.bfloat16
        out.float().sum().backward()
        assert decorated().dtype is torch.float16
        assert model(x).dtype is torch.float32

    return run


@scene
def transforms() -> Scene:
    model = _net()
    own = dict(model.named_parameters())
    given = {name: torch.zeros_like(param) for name, param in own.items()}
    x = torch.ones(3, 4)

    def loss(weights: Any, example: Any) -> Any:
        return torch.func.functional_call(model, weights, (example,)).square().sum()

    def run() -> None:
        try:
            per_example = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))(given, x)
            assert float(per_example["0.weight"].sum()) == 0.0
            _, pull = torch.func.vjp(torch.sin, x)
            assert torch.equal(pull(torch.ones(3, 4))[0], torch.cos(x))
            _, pushed = torch.func.jvp(torch.sin, (x,), (torch.ones(3, 4),))
            assert torch.equal(pushed, torch.cos(x))
            torch.func.hessian(lambda a: (a * a * a).sum())(x[0])
        finally:
            for name, param in model.named_parameters():
                assert param is own[name], "the module has another's parameter"

    return run


@scene
def hooks() -> Scene:
    model = _net()
    model[0].register_forward_hook(lambda module, args, out: out * 1)
    model[0].register_full_backward_hook(lambda module, into, out: None)
    model[2].register_forward_pre_hook(lambda module, args: args)
    model[2].weight.register_post_accumulate_grad_hook(lambda param: None)
    x = torch.ones(3, 4, requires_grad=True)
    x.register_hook(lambda grad: grad * 1)

    def run() -> None:
        with saved_tensors_hooks(lambda t: t.clone(), lambda t: t * 1):
            out = model(x)
        handle = register_multi_grad_hook([x], lambda grads: None)
        out.sum().backward()
        handle.remove()
        with disable_saved_tensors_hooks("not here"):
            model(x)
        with allow_mutation_on_saved_tensors():
            a = torch.ones(3, requires_grad=True) * 2
            b = (a * a).sum()
            a.mul_(3)
            b.backward()

    return run


@scene
def forward_mode() -> Scene:
    x = torch.ones(3, 4)
    model = _net()

    def run() -> None:
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(x, x)
            with torch.autograd.forward_ad.set_fwd_grad_enabled(False):
                assert forward_ad.unpack_dual(torch.sin(dual)).tangent is None
            out = forward_ad.unpack_dual(torch.sin(model(dual)))
            assert out.tangent is not None
            out.tangent.sum().backward()
        assert forward_ad.unpack_dual(x).tangent is None

    return run


@scene
def random_numbers() -> Scene:
    generator = torch.default_generator

    def run() -> None:
        before = generator.get_state()
        try:
            with torch.random.fork_rng():
                torch.manual_seed(1)
                torch.randn(20)
                torch.poisson(torch.ones(5) * 3)
                torch.randperm(10)
                F.dropout(torch.ones(10))
                torch.nn.utils.skip_init(torch.nn.Linear, 3, 3)
        finally:
            assert torch.equal(generator.get_state(), before), "the stream has moved"

    return run


@scene
def profiling() -> Scene:
    model = _net()
    x = torch.ones(3, 4)

    def run() -> None:
        with torch.autograd.profiler.profile(), record_function("block"):
            model(x).sum().backward()
        with profile() as prof:
            model(x)
            prof.step()

    return run


@scene
def parametrized() -> Scene:
    layer = parametrizations.weight_norm(torch.nn.Linear(4, 4))
    x = torch.ones(3, 4)

    def run() -> None:
        with parametrize.cached():
            layer(layer(x)).sum().backward()

    return run


@scene
def loading() -> Scene:
    data = TensorDataset(torch.arange(40.0).reshape(10, 4))
    loader = DataLoader(data, batch_size=4, shuffle=True)
    model = _net()

    def run() -> None:
        count = 0
        for (batch,) in loader:
            count += len(batch)
            model(batch).sum().backward()
        assert count == 10

    return run


@scene
def loading_with_workers() -> Scene:
    data = TensorDataset(torch.arange(40.0).reshape(10, 4))
    loader = DataLoader(data, batch_size=2, num_workers=1, persistent_workers=True)

    def run() -> None:
        total = sum(float(batch.sum()) for (batch,) in loader)
        assert total == 780.0

    return run


@scene
def nested_backward() -> Scene:
    x = torch.full((4,), 0.5, requires_grad=True)

    def hook(grad: Any) -> Any:
        inner = torch.ones(2, requires_grad=True)
        with torch.enable_grad():
            (inner * inner).sum().backward()
        return grad * inner.grad.sum() / 4

    def run() -> None:
        y = x * 1
        y.register_hook(hook)
        z = y.view(2, 2)
        z.mul_(2)
        (first,) = torch.autograd.grad(z.exp().sum() + y.sum(), x, create_graph=True)
        first.sum().backward()

    return run


@scene
def layers() -> Scene:
    """Compiled kernels: what they compute is right after each interrupt."""
    torch.manual_seed(0)
    convolution = torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 3), torch.nn.BatchNorm2d(16, track_running_stats=False),
        torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Flatten(), torch.nn.Linear(784, 10),
    )  # fmt: skip
    recurrent = torch.nn.GRU(8, 16, batch_first=True)
    attention = torch.nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
    images, words = torch.randn(4, 3, 16, 16), torch.randn(4, 12, 8)
    params = [*convolution.parameters(), *recurrent.parameters(), *attention.parameters()]
    expected: list[Any] = []

    def run() -> None:
        found = [convolution(images).log_softmax(1), attention(recurrent(words)[0])]
        found += torch.autograd.grad(found[0][:, 0].sum() + found[1].square().sum(), params)
        for each, right in zip(found, expected):
            assert torch.equal(each, right), "other numbers than before"
        if not expected:
            expected.extend(each.detach() for each in found)

    run()
    return run


@scene
def scaled_gradients() -> Scene:
    model = _net()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler("cpu")
    x = torch.ones(6, 4)

    scaler.scale(x)

    def run() -> None:
        # As in PyTorch, a step that was not followed by an update has to be.
        scaler.update(128.0)
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            loss = model(x).float().square().mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        _check_finite(model)

    return run


def _training_step(check: bool = False) -> Callable[[Any, Any], Any]:
    """A step of training, compiled whole."""
    model = _net()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)

    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return torch.compile(step, check=check)


@scene
def compiled_steps() -> Scene:
    x, y = torch.ones(6, 4), torch.zeros(6, 2)
    step, model = _training_step(), torch.compile(_net())

    @torch.compile
    def guarded(x: Any, total: Any) -> Any:
        total += x.sum()
        return x * 2 if x.sum() > 0 else x

    total = torch.zeros(())

    def run() -> None:
        assert torch.isfinite(step(x, y))
        model(x).sum().backward()
        before, version = float(total), total._version
        try:
            assert guarded(x, total)[0, 0] == 2
        finally:
            # Either nothing of it has happened, or all.
            assert float(total) in (before, before + 24)
            assert total._version == version + (float(total) != before)

    return run


@scene
def compiling() -> Scene:
    x, y = torch.ones(6, 4), torch.zeros(6, 2)

    def run() -> None:
        step = _training_step(check=True)
        assert torch.isfinite(step(x, y)) and torch.isfinite(step(x, y))
        torch.compile(_net())(x).sum().backward()

    return run
