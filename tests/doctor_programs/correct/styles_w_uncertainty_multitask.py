# expect: nothing
import torch
from torch import nn

torch.manual_seed(9)


class UncertaintyWeights(nn.Module):
    def __init__(self, names):
        super().__init__()
        self.log_var = nn.ParameterDict({n: nn.Parameter(torch.zeros(())) for n in names})

    def forward(self, losses):
        return sum(torch.exp(-self.log_var[n]) * l + 0.5 * self.log_var[n] for n, l in losses.items())


class Heads(nn.Module):
    def __init__(self):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(6, 32), nn.Tanh())
        self.depth = nn.Linear(32, 1)
        self.normal = nn.Linear(32, 3)
        self.seg = nn.Linear(32, 4)

    def forward(self, x):
        h = self.shared(x)
        return {"depth": self.depth(h), "normal": self.normal(h), "seg": self.seg(h)}


def batch(n=48):
    x = torch.randn(n, 6)
    return x, {
        "depth": x[:, :1] * x[:, 1:2],
        "normal": nn.functional.normalize(x[:, :3], dim=1),
        "seg": (x[:, 3] > 0).long() * 2 + (x[:, 4] > 0).long(),
    }


criteria = {
    "depth": nn.L1Loss(),
    "normal": lambda p, t: (1 - nn.functional.cosine_similarity(p, t)).mean(),
    "seg": nn.CrossEntropyLoss(),
}
model, weigh = Heads(), UncertaintyWeights(criteria)
opt = torch.optim.Adam([{"params": model.parameters()}, {"params": weigh.parameters(), "lr": 1e-2}], lr=2e-3)
for it in range(40):
    x, targets = batch()
    out = model(x)
    losses = {k: criteria[k](out[k], targets[k]) for k in criteria}
    opt.zero_grad()
    weigh(losses).backward()
    opt.step()
print({k: round(v.item(), 3) for k, v in losses.items()})
