# expect: nothing

import clew as torch
import clew.nn as nn
import clew.nn.functional as F


class Tied(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.W = nn.Parameter(torch.randn(h, d) * (1 / d**0.5))
        self.b = nn.Parameter(torch.zeros(h))
        self.c = nn.Parameter(torch.zeros(d))

    def forward(self, x):
        return F.linear(torch.tanh(F.linear(x, self.W, self.b)), self.W.t(), self.c)


torch.manual_seed(0)
net = Tied(16, 6)
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
data = torch.randn(256, 4) @ torch.randn(4, 16) * 0.3
for ep in range(12):
    for xb in data.split(32):
        loss = F.mse_loss(net(xb), xb)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(ep, loss.item())
