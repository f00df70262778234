# expect: detached-graph line 19

import clew as torch
import clew.nn as nn


class GRUish(nn.Module):
    def __init__(self, i, h):
        super().__init__()
        self.hs = h
        self.x2h = nn.Linear(i, h)
        self.h2h = nn.Linear(h, h)
        self.o = nn.Linear(h, 1)

    def forward(self, x):
        h = torch.zeros(x.shape[0], self.hs)
        for t in range(x.shape[1]):
            h = torch.tanh(self.x2h(x[:, t]) + self.h2h(h))
        return self.o(h.data)


torch.manual_seed(0)
net = GRUish(2, 16)
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for i in range(50):
    x = torch.randn(16, 6, 2)
    loss = nn.functional.mse_loss(net(x), x[:, -1, :1])
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
