# expect: nothing
# In-place operations that are allowed.

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(6, 24)
        self.b = nn.Linear(24, 24)
        self.c = nn.Linear(24, 1)
        self.act = nn.ReLU(inplace=True)

    def forward(self, x):
        h = self.act(self.a(x))
        r = self.b(h)
        r += 0.5
        r = self.act(r)
        out = torch.zeros(len(x), 24)
        out[:, :12] = r[:, :12]
        out[:, 12:] = r[:, 12:] * 2
        return self.c(out)


torch.manual_seed(0)
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
for i in range(20):
    x = torch.randn(16, 6)
    loss = nn.functional.mse_loss(net(x), x[:, :1])
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
