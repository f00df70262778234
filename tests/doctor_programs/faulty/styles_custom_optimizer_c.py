# expect: aliased-buffer line 40
import math
import torch
from torch.optim import Optimizer

torch.manual_seed(2)


class Lion(Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.99), weight_decay=0.0):
        super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            b1, b2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state["m"] = torch.zeros_like(p)
                m = state["m"]
                p.mul_(1 - group["lr"] * group["weight_decay"])
                p.add_((m * b1 + p.grad * (1 - b1)).sign_(), alpha=-group["lr"])
                m.mul_(b2).add_(p.grad, alpha=1 - b2)
        return loss


class Lookahead(Optimizer):
    """k steps forward, one step back."""

    def __init__(self, inner, k=5, alpha=0.5):
        self.inner, self.k, self.alpha, self.count = inner, k, alpha, 0
        self.param_groups, self.state = inner.param_groups, inner.state
        self.slow = [[p.detach() for p in g["params"]] for g in inner.param_groups]

    def zero_grad(self, set_to_none=True):
        self.inner.zero_grad(set_to_none)

    def step(self, closure=None):
        loss = self.inner.step(closure)
        self.count += 1
        if self.count % self.k == 0:
            for slow, group in zip(self.slow, self.inner.param_groups):
                for s, p in zip(slow, group["params"]):
                    s.add_(p.data - s, alpha=self.alpha)
                    p.data.copy_(s)
        return loss


net = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.SiLU(), torch.nn.Linear(32, 1))
x = torch.randn(128, 8)
y = torch.sin(x[:, :1]) + 0.3 * x[:, 1:2]
opt = Lookahead(Lion(net.parameters(), lr=3e-3, weight_decay=1e-3))
for epoch in range(8):
    for i in range(0, 128, 32):
        xb, yb = x[i : i + 32], y[i : i + 32]

        def closure():
            opt.zero_grad()
            loss = torch.nn.functional.mse_loss(net(xb), yb)
            loss.backward()
            return loss

        loss = opt.step(closure)
print(loss.item())
