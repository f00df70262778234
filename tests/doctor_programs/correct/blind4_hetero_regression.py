# expect: nothing

import clew as torch
import clew.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 2))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for i in range(150):
    x = torch.rand(64, 1) * 4 - 2
    y = torch.sin(2 * x) + (0.1 + 0.2 * x.abs()) * torch.randn_like(x)
    mu, logv = net(x).chunk(2, 1)
    loss = nn.functional.gaussian_nll_loss(mu, y, logv.exp())
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 50 == 0:
        print(i, loss.item())
