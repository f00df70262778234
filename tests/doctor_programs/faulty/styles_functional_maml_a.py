# expect: detached-graph line 33
import torch
from torch import nn
from torch.func import functional_call, grad, vmap

torch.manual_seed(0)


class Sine(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh())
        self.out = nn.Linear(24, 1)

    def forward(self, x):
        return self.out(self.body(x))


def sample_task(k=10):
    amp, phase = torch.rand(1) * 4 + 0.5, torch.rand(1) * 3
    x = torch.rand(2 * k, 1) * 8 - 4
    y = amp * torch.sin(x + phase)
    return (x[:k], y[:k]), (x[k:], y[k:])


def inner_loss(params, x, y):
    return ((functional_call(model, params, (x,)) - y) ** 2).mean()


def adapt(params, support, lr=0.02, steps=2):
    for _ in range(steps):
        grads = grad(inner_loss)(params, *support)
        params = {k: (p - lr * grads[k]).detach().requires_grad_() for k, p in params.items()}
    return params


model = Sine()
meta = torch.optim.Adam(model.parameters(), lr=1e-3)
for it in range(12):
    meta.zero_grad()
    total = 0.0
    for _ in range(3):
        support, query = sample_task()
        fast = adapt(dict(model.named_parameters()), support)
        total = total + inner_loss(fast, *query)
    (total / 3).backward()
    meta.step()
print("done")
