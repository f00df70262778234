# expect: dead-relu line 12, 15, 18

import torch
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(6, 64)
        self.b = nn.Linear(64, 2)
        with torch.no_grad():
            self.a.weight.abs_().mul_(-1)

    def forward(self, x):
        return self.b(self.a(x).clamp(min=0))


m = Net()
opt = torch.optim.Adam(m.parameters(), lr=1e-3)
for i in range(30):
    x = torch.rand(32, 6) * 2 + 1
    y = (x[:, 0] > 2).long()
    loss = nn.functional.cross_entropy(m(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
