# expect: batch-mixing line 15

import torch
from torch import nn


class Enc(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 6))
        self.c = nn.Linear(6, 3)

    def forward(self, x):
        z = self.f(x)
        z = z / z.norm()
        return self.c(z * 4)


torch.manual_seed(0)
m = Enc()
opt = torch.optim.Adam(m.parameters(), lr=3e-3)
for i in range(80):
    x = torch.randn(32, 8)
    loss = nn.functional.cross_entropy(m(x), x[:, :3].argmax(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 20 == 0:
        print(i, loss.item())
