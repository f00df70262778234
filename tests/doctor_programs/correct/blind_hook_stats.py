# expect: nothing
# Forward hooks collect detached activation statistics; a tensor hook clips the gradient.

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
stats = {}


def keep(name):
    def hook(mod, inp, out):
        stats.setdefault(name, []).append(out.detach().abs().mean())

    return hook


for n, m in net.named_children():
    m.register_forward_hook(keep(n))
for p in net.parameters():
    p.register_hook(lambda g: g.clamp(-1, 1))
opt = torch.optim.Adadelta(net.parameters(), lr=1.0)
x = torch.randn(32, 5)
y = x[:, :1] ** 2
total = torch.zeros(())
for _ in range(20):
    l = nn.functional.mse_loss(net(x), y)
    opt.zero_grad()
    l.backward()
    opt.step()
    total += l.detach()
print(total / 20, {k: torch.stack(v).mean().item() for k, v in stats.items()})
