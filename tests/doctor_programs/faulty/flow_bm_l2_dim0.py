# expect: batch-mixing line 15

import torch
from torch import nn
import torch.nn.functional as F


class Emb(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 16))
        self.c = nn.Linear(16, 3)

    def forward(self, x):
        z = F.normalize(self.f(x), dim=0)
        return self.c(z * 4)


torch.manual_seed(0)
m = Emb()
opt = torch.optim.Adam(m.parameters(), lr=1e-3)
for i in range(30):
    x = torch.randn(24, 10)
    y = x[:, :3].argmax(1)
    loss = F.cross_entropy(m(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
