# expect: batch-mixing line 16
# The attention scores are normalised over axis 0 of (batch, time, time).

import torch
from torch import nn


class Att(nn.Module):
    def __init__(self, d=8):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)
        self.out = nn.Linear(d, 2)

    def forward(self, x):
        s = self.q(x) @ self.k(x).transpose(-1, -2) / 8**0.5
        w = s.softmax(dim=0)
        return self.out((w @ self.v(x)).mean(1))


torch.manual_seed(0)
att = Att()
opt = torch.optim.Adam(att.parameters(), lr=2e-3)
for i in range(20):
    x = torch.randn(12, 5, 8)
    loss = nn.functional.cross_entropy(att(x), (x[:, 0, 0] > 0).long())
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
