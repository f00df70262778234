# expect: vanishing-gradient line 12, 17

import torch
from torch import nn

torch.manual_seed(0)


class Deep(nn.Module):
    def __init__(self, n=10):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(20, 20) for _ in range(n))
        self.out = nn.Linear(20, 2)

    def forward(self, x):
        for l in self.layers:
            x = torch.sigmoid(l(x))
        return self.out(x)


m = Deep()
opt = torch.optim.SGD(m.parameters(), lr=0.1)
for i in range(25):
    x = torch.randn(32, 20)
    y = (x[:, 0] > 0).long()
    loss = nn.functional.cross_entropy(m(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
