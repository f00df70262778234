# expect: nothing

import clew as torch
import clew.nn as nn

# smoothness regulariser: prediction at t and t+1 of the same net, both meant to move
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 1))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
t = torch.linspace(0, 3, 60).unsqueeze(1)
y = torch.sin(2 * t) + 0.1 * torch.randn(60, 1)
for i in range(150):
    p = net(t)
    fit = nn.functional.mse_loss(p, y)
    smooth = (p[1:] - p[:-1]).pow(2).mean()
    loss = fit + 0.5 * smooth
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
