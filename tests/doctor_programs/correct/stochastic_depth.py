# expect: nothing
# Blocks are skipped at random: in some steps a block's parameters take no part.

import random

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, blocks=3, dim=24, keep=0.8):
        super().__init__()
        self.keep = keep
        self.inp, self.out = nn.Linear(5, dim), nn.Linear(dim, 1)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, dim))
            for _ in range(blocks)
        )

    def forward(self, x):
        h = self.inp(x)
        for block in self.blocks:
            if not self.training:
                h = h + self.keep * block(h)
            elif random.random() < self.keep:
                h = h + block(h)
        return self.out(h)


random.seed(270)
torch.manual_seed(270)
net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
x = torch.randn(100, 5)
y = torch.relu(x[:, :1]) - x[:, 1:2].abs()
losses = []
for _ in range(60):
    loss = nn.functional.mse_loss(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
net.eval()
with torch.no_grad():
    print("loss", losses[0], nn.functional.mse_loss(net(x), y).item())
