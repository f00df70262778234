# expect: aliased-buffer line 9
import torch
from torch import nn


class Lookahead:
    def __init__(self, inner, k=5, alpha=0.5):
        self.inner, self.k, self.alpha, self.n = inner, k, alpha, 0
        self.slow = [[p.detach() for p in g["params"]] for g in inner.param_groups]

    def zero_grad(self):
        self.inner.zero_grad()

    @torch.no_grad()
    def step(self):
        self.inner.step()
        self.n += 1
        if self.n % self.k:
            return
        for group, slow in zip(self.inner.param_groups, self.slow):
            for p, s in zip(group["params"], slow):
                s.add_(p - s, alpha=self.alpha)
                p.copy_(s)


class Perturb:
    def __init__(self, params, rho=0.02):
        self.params, self.rho = list(params), rho

    def __enter__(self):
        with torch.no_grad():
            norm = torch.stack([p.grad.norm() for p in self.params]).norm() + 1e-12
            self.eps = [p.grad * (self.rho / norm) for p in self.params]
            for p, e in zip(self.params, self.eps):
                p.add_(e)

    def __exit__(self, *exc):
        with torch.no_grad():
            for p, e in zip(self.params, self.eps):
                p.sub_(e)


torch.manual_seed(40)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.LayerNorm(32), nn.Linear(32, 2))
opt = Lookahead(torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9))
crit = nn.CrossEntropyLoss()
X = torch.randn(400, 8)
Y = (X[:, 0] * X[:, 1] > 0).long()
for step in range(60):
    idx = torch.randint(0, 400, (32,))
    opt.zero_grad()
    first = crit(model(X[idx]), Y[idx])
    first.backward()
    with Perturb(model.parameters()):
        opt.zero_grad()
        crit(model(X[idx]), Y[idx]).backward()
    opt.step()
    if step % 20 == 0:
        print(step, f"{first.item():.3f}")
