# expect: nothing
# Missing targets are NaN in the data and removed by boolean indexing before the loss.

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(4, 3)
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for i in range(25):
    x = torch.randn(32, 4)
    y = x[:, :3] * 2
    y[torch.rand(32, 3) < 0.2] = float("nan")
    seen = ~torch.isnan(y)
    loss = nn.functional.mse_loss(net(x)[seen], y[seen])
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
