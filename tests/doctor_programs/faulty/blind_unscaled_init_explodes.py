# expect: exploding-gradient line 10, 18
# Standard normal weights without any scaling through eight ReLU layers.

import torch
from torch import nn


def init(m):
    if isinstance(m, nn.Linear):
        nn.init.normal_(m.weight, std=1.0)
        nn.init.zeros_(m.bias)


torch.manual_seed(0)
net = nn.Sequential(
    *[nn.Sequential(nn.Linear(64, 64), nn.ReLU()) for _ in range(8)], nn.Linear(64, 1)
)
net.apply(init)
opt = torch.optim.SGD(net.parameters(), lr=1e-9)
x, y = torch.randn(32, 64), torch.randn(32, 1)
for epoch in range(5):
    opt.zero_grad()
    loss = nn.functional.mse_loss(net(x), y)
    loss.backward()
    opt.step()
    print(epoch, loss.item())
