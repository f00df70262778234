# expect: nothing

import copy
import torch
from torch import nn


class EMA:
    def __init__(self, model, decay=0.98):
        self.shadow = copy.deepcopy(model).eval()
        self.decay = decay
        for p in self.shadow.parameters():
            p.requires_grad_(False)

    @torch.no_grad()
    def update(self, model):
        for s, p in zip(self.shadow.parameters(), model.parameters()):
            s.mul_(self.decay).add_(p, alpha=1 - self.decay)
        for s, b in zip(self.shadow.buffers(), model.buffers()):
            s.copy_(b)


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 2))
ema = EMA(net)
opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
X = torch.randn(300, 6)
y = (X[:, 0] > 0).long()
for ep in range(8):
    for i in torch.randperm(240).split(24):
        loss = nn.functional.cross_entropy(net(X[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
        ema.update(net)
    with torch.no_grad():
        print(ep, (ema.shadow(X[240:]).argmax(1) == y[240:]).float().mean().item())
