# expect: nothing

import torch
from torch import nn
from torch.func import functional_call, vmap, grad

# per-sample gradients, clipped (DP-SGD style)
torch.manual_seed(0)
net = nn.Linear(5, 2)
X = torch.randn(128, 5)
y = (X[:, 0] > 0).long()


def f(p, x, t):
    return nn.functional.cross_entropy(functional_call(net, p, (x.unsqueeze(0),)), t.unsqueeze(0))


ps_grad = vmap(grad(f), in_dims=(None, 0, 0))
opt = torch.optim.SGD(net.parameters(), lr=0.5)
for it in range(40):
    i = torch.randint(0, 128, (32,))
    g = ps_grad({k: v.detach() for k, v in net.named_parameters()}, X[i], y[i])
    norm = torch.sqrt(sum(v.flatten(1).pow(2).sum(1) for v in g.values()))
    c = (1.0 / (norm + 1e-6)).clamp(max=1.0)
    for k, p in net.named_parameters():
        p.grad = (g[k] * c.view(-1, *[1] * (g[k].dim() - 1))).mean(0) + 0.01 * torch.randn_like(p)
    opt.step()
    opt.zero_grad()
with torch.no_grad():
    print((net(X).argmax(1) == y).float().mean())
