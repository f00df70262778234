# expect: nothing

import torch
from torch import nn


class TM(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(5, 12)
        self.o = nn.Linear(12, 2)

    def forward(self, x):
        T, B, F = x.shape
        h = torch.relu(self.l(x.reshape(T * B, F)))
        return self.o(h.view(T, B, 12).mean(0))


torch.manual_seed(0)
m = TM()
opt = torch.optim.Adam(m.parameters(), lr=3e-3)
for i in range(40):
    x = torch.randn(10, 16, 5)
    y = (x[..., 0].mean(0) > 0).long()
    loss = nn.functional.cross_entropy(m(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
