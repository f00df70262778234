# expect: inplace-saved-tensor line 16

import torch
import torch.nn as nn


class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(6, 12)
        self.b = nn.Linear(12, 1)

    def forward(self, x):
        h = torch.sigmoid(self.a(x))
        s = h * h
        h += 1.0
        return self.b(h + s)


torch.manual_seed(0)
net = Gate()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(5):
    x = torch.randn(8, 6)
    loss = (net(x) - x.sum(1, keepdim=True)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
