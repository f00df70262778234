# expect: nothing
# PCGrad: per-task gradients by autograd.grad, projected, then written to .grad.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(404)
net = nn.Sequential(nn.Linear(5, 24), nn.ReLU(), nn.Linear(24, 2))
params = list(net.parameters())
optimizer = torch.optim.Adam(params, lr=5e-3)
x = torch.randn(90, 5)
targets = torch.stack([x[:, 0] + x[:, 1], x[:, 0] - x[:, 2]], dim=1)


def flat(grads):
    return torch.cat([g.reshape(-1) for g in grads])


losses = []
for _ in range(60):
    out = net(x)
    tasks = [F.mse_loss(out[:, i], targets[:, i]) for i in range(2)]
    g = [flat(torch.autograd.grad(t, params, retain_graph=i == 0)) for i, t in enumerate(tasks)]
    merged = []
    for i in range(2):
        other, own = g[1 - i], g[i].clone()
        dot = own @ other
        if dot < 0:
            own -= dot / (other @ other) * other
        merged.append(own)
    total, offset = merged[0] + merged[1], 0
    for p in params:
        p.grad = total[offset : offset + p.numel()].view_as(p).clone()
        offset += p.numel()
    optimizer.step()
    losses.append(sum(t.item() for t in tasks))
print("tasks", losses[0], losses[-1])
