"""Programs that use what a watch could disturb; `tests.watched` runs each with and without one.

Each takes the module (`torch`, or clew) and returns what it has seen. None of them has a bug.
"""

from __future__ import annotations

import copy
import io
import pickle
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

Program = Callable[[Any], Any]


def table() -> tuple[dict[str, Program], Callable[[Program], Program]]:
    """Programs by name, and a decorator that adds one."""
    programs: dict[str, Program] = {}

    def add(function: Program) -> Program:
        programs[function.__name__] = function
        return function

    return programs, add


PROGRAMS, program = table()


def network(torch: Any, inputs: int = 4, outputs: int = 1) -> Any:
    nn = torch.nn
    return nn.Sequential(nn.Linear(inputs, 16), nn.Tanh(), nn.Linear(16, outputs))


def trained(model: Any) -> list[Any]:
    return [parameter.detach().clone() for parameter in model.parameters()]


# -- gradients of gradients ----------------------------------------------------------------------


@program
def maml(torch: Any) -> Any:
    model = network(torch)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(6):
        optimizer.zero_grad()
        total = 0.0
        for task in range(3):
            x = torch.randn(8, 4)
            y = (x * (task + 1)).sum(1, keepdim=True).tanh()
            loss = torch.nn.functional.mse_loss(model(x), y)
            grads = torch.autograd.grad(loss, list(model.parameters()), create_graph=True)
            names = [name for name, _ in model.named_parameters()]
            moved = zip(names, model.parameters(), grads, strict=True)
            fast = {name: p - 0.1 * g for name, p, g in moved}
            query = torch.func.functional_call(model, fast, (torch.randn(8, 4),))
            total = total + torch.nn.functional.mse_loss(query, y)
        (total / 3).backward()
        optimizer.step()
        losses.append(total.item())
    return losses, trained(model)


@program
def gradient_penalty(torch: Any) -> Any:
    critic = network(torch)
    optimizer = torch.optim.RMSprop(critic.parameters(), lr=1e-3)
    losses = []
    for _ in range(6):
        real, fake = torch.randn(16, 4) + 1, torch.randn(16, 4)
        mix = torch.rand(16, 1)
        between = (mix * real + (1 - mix) * fake).requires_grad_()
        score = critic(between)
        (slope,) = torch.autograd.grad(score.sum(), between, create_graph=True)
        penalty = ((slope.norm(2, dim=1) - 1) ** 2).mean()
        loss = critic(fake).mean() - critic(real).mean() + 10 * penalty
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, trained(critic)


@program
def physics_informed(torch: Any) -> Any:
    model = network(torch, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    losses = []
    for _ in range(8):
        t = torch.rand(32, 1).requires_grad_()
        u = model(t)
        (first,) = torch.autograd.grad(u.sum(), t, create_graph=True)
        (second,) = torch.autograd.grad(first.sum(), t, create_graph=True)
        residual = (second + u).pow(2).mean()
        boundary = (model(torch.zeros(1, 1)) - 1).pow(2).mean()
        loss = residual + boundary
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, trained(model)


@program
def jacobian_penalty(torch: Any) -> Any:
    model = network(torch, 4, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(5):
        x = torch.randn(8, 4).requires_grad_()
        y = model(x)
        size = 0.0
        for column in range(3):
            (row,) = torch.autograd.grad(y[:, column].sum(), x, create_graph=True)
            size = size + row.pow(2).sum()
        loss = y.pow(2).mean() + 0.01 * size / 8
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, trained(model)


@program
def transforms(torch: Any) -> Any:
    model = network(torch)
    weights = {name: p.detach() for name, p in model.named_parameters()}

    def loss(weights: Any, x: Any, y: Any) -> Any:
        return (torch.func.functional_call(model, weights, (x[None],)) - y).pow(2).sum()

    x, y = torch.randn(6, 4), torch.randn(6)
    each = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(weights, x, y)
    hessian = torch.func.hessian(lambda v: v.pow(3).sum())(x[0])
    value, tangent = torch.func.jvp(lambda v: (v * v).sin(), (x[0],), (torch.ones(4),))
    _, pull = torch.func.vjp(lambda v: v.exp(), x[0])
    rows = torch.autograd.functional.jacobian(lambda v: v.tanh() * 2, x[1], vectorize=True)
    return each, hessian, value, tangent, pull(torch.ones(4)), rows


@program
def forward_mode(torch: Any) -> Any:
    model = network(torch)
    forward = torch.autograd.forward_ad
    with forward.dual_level():
        x = forward.make_dual(torch.randn(3, 4), torch.ones(3, 4))
        out = forward.unpack_dual(model(x))
    return out.primal, out.tangent


# -- the user's code inside of backward ----------------------------------------------------------


@program
def custom_function(torch: Any) -> Any:
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (x,) = ctx.saved_tensors
            return grad * 3 * x**2

    w = torch.randn(5).requires_grad_()
    (first,) = torch.autograd.grad(Cube.apply(w).sum(), w, create_graph=True)
    first.sum().backward()
    return first, w.grad


@program
def hooks_that_go_backward(torch: Any) -> Any:
    seen: list[Any] = []
    model = network(torch)
    w = torch.randn(4).requires_grad_()

    def inside(grad: Any) -> Any:
        with torch.enable_grad():
            inner = (w * grad.detach().sum()).pow(2).sum()
        (found,) = torch.autograd.grad(inner, w)
        seen.append(found)
        return grad * 0.5

    x = torch.randn(3, 4).requires_grad_()
    x.register_hook(inside)
    handles = [
        model[0].register_forward_hook(lambda m, args, out: out * 2),
        model[0].register_full_backward_hook(lambda m, given, got: seen.append(got[0])),
        model[2].weight.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.clone())),
    ]
    model(x * w).sum().backward()
    for handle in handles:
        handle.remove()
    return seen, x.grad, [p.grad for p in model.parameters()]


@program
def checkpointed(torch: Any) -> Any:
    model = network(torch)
    drop = torch.nn.Dropout(0.5)
    x = torch.randn(6, 4).requires_grad_()
    out = torch.utils.checkpoint.checkpoint(lambda v: drop(model(v)), x, use_reentrant=False)
    out.sum().backward()
    again = torch.utils.checkpoint.checkpoint(model, x, use_reentrant=True)
    again.mean().backward()
    return out, x.grad, [p.grad for p in model.parameters()]


@program
def generators(torch: Any) -> Any:
    w = torch.randn(3).requires_grad_()

    @torch.no_grad()
    def values() -> Iterator[Any]:
        for scale in range(3):
            yield w * scale

    @torch.no_grad()
    def stopped() -> Any:
        return w * 2

    found = [(value, (w * value).requires_grad) for value in values()]
    try:
        stopped().sum().backward()
    except RuntimeError as error:
        return found, str(error)
    return found


# -- training ------------------------------------------------------------------------------------


@program
def mixed_precision(torch: Any) -> Any:
    model = network(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    scaler = torch.amp.GradScaler("cpu", init_scale=128.0)
    for _ in range(4):
        x = torch.randn(8, 4)
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            out = model(x)
        loss = out.float().pow(2).mean()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
    return trained(model), scaler.get_scale()


@program
def copies_and_files(torch: Any) -> Any:
    model = network(torch)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2)
    for _ in range(4):
        optimizer.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        optimizer.step()
        scheduler.step()
    twin = copy.deepcopy(model)
    unpickled = pickle.loads(pickle.dumps(model))
    file = io.BytesIO()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file)
    file.seek(0)
    loaded = torch.load(file, weights_only=True)
    twin.load_state_dict(loaded["model"])
    optimizer.load_state_dict(loaded["optimizer"])
    pickle.dumps((optimizer, scheduler))
    return trained(twin), trained(unpickled), len(file.getvalue()), scheduler.get_last_lr()


class Squares:
    """A dataset that draws random numbers in its workers."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch

    def __len__(self) -> int:
        return 12

    def __getitem__(self, index: int) -> Any:
        return self.torch.rand(3) + index, self.torch.tensor(float(index))


@program
def loader_workers(torch: Any) -> Any:
    batches = []
    for workers in (0, 2):
        data = torch.utils.data
        loader = data.DataLoader(Squares(torch), batch_size=4, shuffle=True, num_workers=workers)
        batches += [list(batch) for batch in loader]
    return batches


@program
def threads(torch: Any) -> Any:
    """Several threads train models of their own, from random numbers of their own."""
    results: dict[int, Any] = {}

    def work(number: int) -> None:
        stream = torch.Generator().manual_seed(number)
        w = torch.randn(4, 1, generator=stream).requires_grad_()
        optimizer = torch.optim.SGD([w], lr=0.05)
        for _ in range(30):
            x = torch.randn(8, 4, generator=stream)
            optimizer.zero_grad()
            (x @ w - x.sum(1, keepdim=True)).pow(2).mean().backward()
            optimizer.step()
        results[number] = w.detach()

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        running = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in running:
            thread.start()
        work(4)
        for thread in running:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    return [results[number] for number in range(5)]


@program
def late_products(torch: Any) -> Any:
    """Large enough for weight gradients that other threads make, where nobody watches."""
    model = torch.nn.Sequential(*[torch.nn.Linear(128, 128) for _ in range(6)])
    for _ in range(2):
        model.zero_grad()
        model(torch.randn(64, 128)).square().mean().backward()
    return [p.grad for p in model.parameters()]
