# expect: nothing

import torch
import torch.nn as nn


class Att(nn.Module):
    def __init__(self):
        super().__init__()
        self.s = nn.Linear(8, 1)
        self.o = nn.Linear(8, 2)

    def forward(self, x):
        s = self.s(x).squeeze(-1)
        e = torch.exp(s - s.max())
        w = e / e.sum(1, keepdim=True)
        return self.o((w.unsqueeze(-1) * x).sum(1))


torch.manual_seed(0)
net = Att()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for i in range(30):
    x = torch.randn(16, 5, 8)
    y = (x.mean((1, 2)) > 0).long()
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
