# expect: nothing

import clew as torch
import clew.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for i in range(80):
    x = torch.randn(32, 4)
    err = (net(x).squeeze(1) - x[:, 0].abs()) ** 2
    opt.zero_grad()
    err.backward(gradient=torch.full_like(err, 1 / 32))
    opt.step()
    if i % 20 == 0:
        print(i, err.mean().item())
