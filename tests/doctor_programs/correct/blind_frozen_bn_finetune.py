# expect: nothing
# Fine-tuning with the backbone's batch norms deliberately kept in eval mode.

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten()
        )
        self.fc = nn.Linear(16, 2)
        for p in self.features.parameters():
            p.requires_grad = False

    def train(self, mode=True):
        super().train(mode)
        self.features.eval()
        return self

    def forward(self, x):
        return self.fc(self.features(x))


torch.manual_seed(0)
net = Net().train()
opt = torch.optim.SGD(net.fc.parameters(), 0.1)
x, y = torch.randn(30, 1, 8, 8), torch.randint(0, 2, (30,))
for ep in range(5):
    net.train()
    for i in range(0, 30, 10):
        opt.zero_grad()
        nn.functional.cross_entropy(net(x[i : i + 10]), y[i : i + 10]).backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        print(ep, (net(x).argmax(1) == y).float().mean().item())
