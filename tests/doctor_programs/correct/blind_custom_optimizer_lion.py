# expect: nothing
# A Lion optimizer written from torch.optim.Optimizer.

import torch
from torch import nn


class Lion(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.99), weight_decay=0.0):
        super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            b1, b2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                st = self.state[p]
                if not st:
                    st["m"] = torch.zeros_like(p)
                p.mul_(1 - group["lr"] * group["weight_decay"])
                p.add_((st["m"] * b1 + p.grad * (1 - b1)).sign(), alpha=-group["lr"])
                st["m"].mul_(b2).add_(p.grad, alpha=1 - b2)


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
opt = Lion(net.parameters(), lr=3e-3, weight_decay=0.01)
x = torch.randn(64, 5)
y = x.abs().sum(1, keepdim=True)
for i in range(40):
    l = nn.functional.mse_loss(net(x), y)
    opt.zero_grad()
    l.backward()
    opt.step()
print(l.item())
