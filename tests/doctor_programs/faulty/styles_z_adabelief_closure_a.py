# expect: missing-zero-grad line 46, 51
import math
import torch
from torch import nn


class AdaBelief(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-12):
        defaults = dict(lr=lr, betas=betas, eps=eps)
        super().__init__(params, defaults)

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                st = self.state[p]
                if len(st) == 0:
                    st["t"] = 0
                    st["m"] = torch.zeros_like(p)
                    st["s"] = torch.zeros_like(p)
                st["t"] += 1
                st["m"].lerp_(p.grad, 1 - beta1)
                diff = p.grad - st["m"]
                st["s"].mul_(beta2).addcmul_(diff, diff, value=1 - beta2).add_(group["eps"])
                c1, c2 = 1 - beta1 ** st["t"], 1 - beta2 ** st["t"]
                p.addcdiv_(st["m"], (st["s"] / c2).sqrt().add_(1e-8), value=-group["lr"] / c1)
        return loss


torch.manual_seed(3)
t = torch.linspace(-1, 1, 200).unsqueeze(1)
target = torch.sin(4 * math.pi * t) * t
net = nn.Sequential(nn.Linear(1, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, 1))
optimizer = AdaBelief(net.parameters(), lr=4e-3)


def closure():
    loss = nn.functional.mse_loss(net(t), target)
    loss.backward()
    return loss


for step in range(60):
    value = optimizer.step(closure)
print(float(value))
