# expect: batch-mixing line 14

import torch
from torch import nn


class AttnPool(nn.Module):
    def __init__(self, d=12):
        super().__init__()
        self.score = nn.Linear(d, 1)
        self.out = nn.Linear(d, 2)

    def forward(self, x):  # x: (B, T, d)
        w = torch.softmax(self.score(x), dim=0)
        return self.out((w * x).sum(1))


torch.manual_seed(0)
net = AttnPool()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for i in range(60):
    x = torch.randn(16, 7, 12)
    y = (x[:, :, 0].mean(1) > 0).long()
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 20 == 0:
        print(i, loss.item())
