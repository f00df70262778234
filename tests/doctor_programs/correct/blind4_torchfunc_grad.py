# expect: nothing

import torch
from torch import nn
from torch.func import functional_call, grad

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
params = {k: v.detach().clone() for k, v in net.named_parameters()}
X = torch.randn(128, 4)
y = X[:, :1] - X[:, 1:2]


def loss_fn(p, x, t):
    return ((functional_call(net, p, (x,)) - t) ** 2).mean()


g = grad(loss_fn)
for i in range(80):
    gs = g(params, X, y)
    params = {k: params[k] - 0.1 * gs[k] for k in params}
    if i % 20 == 0:
        print(i, loss_fn(params, X, y).item())
