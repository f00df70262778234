# expect: nothing
# Fine-tuning with the BatchNorm layers deliberately left in eval mode.

import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 32), nn.BatchNorm1d(32), nn.ReLU())
        self.head = nn.Linear(32, 2)

    def train(self, mode=True):
        super().train(mode)
        for module in self.modules():
            if isinstance(module, nn.BatchNorm1d):
                module.eval()
                module.requires_grad_(False)
        return self

    def forward(self, x):
        return self.head(self.body(x))


torch.manual_seed(242)
net = Net()
net.train()
optimizer = torch.optim.Adam([p for p in net.parameters() if p.requires_grad], lr=5e-3)
x = torch.randn(100, 6)
y = (x[:, 0] > x[:, 1]).long()
losses = []
for _ in range(10):
    for xb, yb in zip(x.split(10), y.split(10)):
        loss = F.cross_entropy(net(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
print(sum(losses[:10]) / 10, sum(losses[-10:]) / 10)
