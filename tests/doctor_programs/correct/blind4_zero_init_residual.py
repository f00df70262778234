# expect: nothing

import clew as torch
import clew.nn as nn


class Res(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.f = nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))
        nn.init.zeros_(self.f[-1].weight)
        nn.init.zeros_(self.f[-1].bias)

    def forward(self, x):
        return x + self.f(x)


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 24), Res(24), Res(24), nn.Linear(24, 1))
opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
for i in range(100):
    x = torch.randn(32, 6)
    loss = nn.functional.mse_loss(net(x), (x[:, :1] * x[:, 1:2]))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 25 == 0:
        print(i, loss.item())
