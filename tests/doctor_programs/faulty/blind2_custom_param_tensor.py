# expect: param-not-in-optimizer line 11, 19

import clew as torch
import clew.nn as nn


class Scale(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.lin = nn.Linear(d, d)
        self.alpha = torch.ones(d, requires_grad=True)

    def forward(self, x):
        return x + self.alpha * torch.tanh(self.lin(x))


torch.manual_seed(0)
net = nn.Sequential(Scale(8), Scale(8), nn.Linear(8, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for i in range(30):
    x = torch.randn(32, 8)
    y = x[:, :1] ** 2
    loss = nn.functional.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
