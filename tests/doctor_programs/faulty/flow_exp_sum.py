# expect: batch-mixing line 15

import torch
import torch.nn as nn


class Pool(nn.Module):
    def __init__(self):
        super().__init__()
        self.score = nn.Linear(8, 1)
        self.out = nn.Linear(8, 2)

    def forward(self, x):
        e = torch.exp(self.score(x).squeeze(-1))
        w = e / e.sum()
        return self.out((w.unsqueeze(-1) * x).sum(1))


torch.manual_seed(0)
net = Pool()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for i in range(30):
    x = torch.randn(16, 5, 8)
    y = (x.mean((1, 2)) > 0).long()
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
