# expect: detached-graph line 16
import torch
import torch.nn as nn
from torch.func import functional_call, grad_and_value

torch.manual_seed(5)

net = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
params = {k: v.detach().clone() for k, v in net.named_parameters()}

xs = torch.rand(256, 2) * 2 - 1
ys = torch.sin(3 * xs[:, :1]) * xs[:, 1:]


def loss_fn(params, x, y):
    pred = net(x)
    return ((pred - y) ** 2).mean()


def init_adam(params):
    zeros = {k: torch.zeros_like(v) for k, v in params.items()}
    return zeros, {k: z.clone() for k, z in zeros.items()}


def adam_update(params, grads, state, t, lr=1e-2, b1=0.9, b2=0.999):
    m, v = state
    m = {k: b1 * m[k] + (1 - b1) * g for k, g in grads.items()}
    v = {k: b2 * v[k] + (1 - b2) * g * g for k, g in grads.items()}
    new = {}
    for k, p in params.items():
        mh, vh = m[k] / (1 - b1**t), v[k] / (1 - b2**t)
        new[k] = p - lr * mh / (vh.sqrt() + 1e-8)
    return new, (m, v)


step_fn = grad_and_value(loss_fn)
state = init_adam(params)
for t in range(1, 121):
    idx = torch.randperm(256)[:128]
    grads, loss = step_fn(params, xs[idx], ys[idx])
    params, state = adam_update(params, grads, state, t)
    if t % 30 == 0 or t == 1:
        print(f"t {t} loss {loss.item():.5f}")
