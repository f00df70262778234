# expect: missing-zero-grad line 32, 42, 45
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(3)


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base, rho=0.05, **kwargs):
        super().__init__(params, dict(rho=rho, **kwargs))
        self.base = base(self.param_groups, **kwargs)
        self.param_groups = self.base.param_groups

    @torch.no_grad()
    def ascend(self):
        norm = torch.norm(torch.stack([p.grad.norm() for g in self.param_groups for p in g["params"] if p.grad is not None]))
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                e = p.grad * (group["rho"] / (norm + 1e-12))
                p.add_(e)
                self.state[p]["e"] = e

    @torch.no_grad()
    def descend(self):
        for group in self.param_groups:
            for p in group["params"]:
                if "e" in self.state[p]:
                    p.sub_(self.state[p]["e"])
        self.base.step()
        self.zero_grad()


model = nn.Sequential(nn.Linear(10, 40), nn.ReLU(), nn.Linear(40, 4))
opt = SAM(model.parameters(), torch.optim.SGD, lr=0.05)
x = torch.randn(200, 10)
y = (x @ torch.randn(10, 4)).argmax(1)
for epoch in range(5):
    for i in torch.randperm(200).split(40):
        F.cross_entropy(model(x[i]), y[i]).backward()
        opt.ascend()
        loss = F.cross_entropy(model(x[i]), y[i])
        loss.backward()
        opt.descend()
print(loss.item())
