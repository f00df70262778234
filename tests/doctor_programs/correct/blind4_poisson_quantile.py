# expect: nothing

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 24), nn.ReLU(), nn.Linear(24, 3))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
q = torch.tensor([0.1, 0.5, 0.9])
for i in range(150):
    x = torch.randn(64, 3)
    y = x[:, :1] + 0.5 * torch.randn(64, 1)
    e = y - net(x)
    loss = torch.maximum(q * e, (q - 1) * e).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 50 == 0:
        print(i, loss.item())
