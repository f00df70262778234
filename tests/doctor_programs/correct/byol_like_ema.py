# expect: nothing
# Online and target branch, predictor, stop-gradient and momentum update.

import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


def mlp(i, h, o):
    return nn.Sequential(nn.Linear(i, h), nn.BatchNorm1d(h), nn.ReLU(), nn.Linear(h, o))


class Byol(nn.Module):
    def __init__(self):
        super().__init__()
        self.online = mlp(8, 32, 16)
        self.predictor = mlp(16, 32, 16)
        self.target = copy.deepcopy(self.online)
        for p in self.target.parameters():
            p.requires_grad = False

    def forward(self, a, b):
        pa, pb = self.predictor(self.online(a)), self.predictor(self.online(b))
        with torch.no_grad():
            ta, tb = self.target(a), self.target(b)
        return 4 - 2 * (F.cosine_similarity(pa, tb).mean() + F.cosine_similarity(pb, ta).mean())

    @torch.no_grad()
    def momentum(self, m=0.98):
        for p, t in zip(self.online.parameters(), self.target.parameters()):
            t.mul_(m).add_(p, alpha=1 - m)


torch.manual_seed(0)
net = Byol()
opt = torch.optim.Adam([p for p in net.parameters() if p.requires_grad], lr=1e-3)
for i in range(25):
    x = torch.randn(32, 8)
    loss = net(x + 0.1 * torch.randn_like(x), x + 0.1 * torch.randn_like(x))
    opt.zero_grad()
    loss.backward()
    opt.step()
    net.momentum()
print(loss.item())
