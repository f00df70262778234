# expect: nothing
# ControlNet/ReZero style: the last layer of each residual branch starts at zero on purpose.

import torch
from torch import nn


class Res(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.up, self.down = nn.Linear(d, 2 * d), nn.Linear(2 * d, d)
        nn.init.zeros_(self.down.weight)
        nn.init.zeros_(self.down.bias)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(x)))


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 12), Res(12), Res(12), nn.LayerNorm(12), nn.Linear(12, 1))
opt = torch.optim.Adam(net.parameters(), 3e-3)
x = torch.randn(64, 4)
y = x.abs().max(1, keepdim=True).values
for _ in range(25):
    opt.zero_grad()
    l = nn.functional.mse_loss(net(x), y)
    l.backward()
    opt.step()
print(l.item())
