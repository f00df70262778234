# expect: inplace-saved-tensor line 17

import torch
from torch import nn


class Gate(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.g = nn.Linear(d, d)
        self.v = nn.Linear(d, d)
        self.o = nn.Linear(d, 1)

    def forward(self, x):
        gate = torch.sigmoid(self.g(x))
        val = torch.tanh(self.v(x))
        gate *= val
        return self.o(gate)


torch.manual_seed(0)
m = Gate(8)
opt = torch.optim.Adam(m.parameters(), lr=1e-2)
x = torch.randn(32, 8)
y = x[:, :1]
for i in range(20):
    opt.zero_grad()
    loss = ((m(x) - y) ** 2).mean()
    loss.backward()
    opt.step()
    print(i, loss.item())
