# expect: nothing
import math
import torch
from torch import nn
from torch.func import functional_call

torch.manual_seed(0)


def sample_task():
    amp, phase = 0.5 + 2 * torch.rand(()), math.pi * torch.rand(())

    def draw(n):
        x = torch.rand(n, 1) * 6 - 3
        return x, amp * torch.sin(x + phase)

    return draw


def adapt(model, params, x, y, lr=0.05, steps=2):
    for _ in range(steps):
        loss = nn.functional.mse_loss(functional_call(model, params, (x,)), y)
        grads = torch.autograd.grad(loss, list(params.values()), create_graph=True)
        params = {k: p - lr * g for (k, p), g in zip(params.items(), grads)}
    return params


model = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
meta = torch.optim.Adam(model.parameters(), lr=2e-3)
for it in range(25):
    meta.zero_grad()
    outer = 0.0
    for _ in range(4):
        draw = sample_task()
        fast = adapt(model, dict(model.named_parameters()), *draw(10))
        xq, yq = draw(10)
        outer = outer + nn.functional.mse_loss(functional_call(model, fast, (xq,)), yq) / 4
    outer.backward()
    meta.step()
    if it % 8 == 0:
        print(it, f"{outer.item():.4f}")
