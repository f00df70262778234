# expect: nothing

import clew as torch
import clew.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.t = nn.Sequential(nn.Linear(5, 32), nn.ELU())
        self.a, self.b = nn.Linear(32, 1), nn.Linear(32, 1)
        self.log_vars = nn.Parameter(torch.zeros(2))

    def forward(self, x):
        h = self.t(x)
        return self.a(h), self.b(h)


torch.manual_seed(0)
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for i in range(100):
    x = torch.randn(32, 5)
    pa, pb = net(x)
    l1 = nn.functional.mse_loss(pa, x[:, :1] * 2)
    l2 = nn.functional.l1_loss(pb, x[:, 1:2].abs())
    loss = torch.exp(-net.log_vars[0]) * l1 + torch.exp(-net.log_vars[1]) * l2 + net.log_vars.sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 25 == 0:
        print(i, l1.item(), l2.item())
