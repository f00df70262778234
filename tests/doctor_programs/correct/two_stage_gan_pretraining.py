# expect: nothing
# The generator is pretrained with a regression loss, then trained adversarially.

import torch
from torch import nn

torch.manual_seed(0)
G = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 2))
D = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
pre = torch.optim.Adam(G.parameters(), lr=1e-2)
for i in range(15):
    z = torch.randn(32, 3)
    loss = nn.functional.mse_loss(G(z), z[:, :2])
    pre.zero_grad()
    loss.backward()
    pre.step()
go, do = torch.optim.Adam(G.parameters(), lr=1e-3), torch.optim.Adam(D.parameters(), lr=1e-3)
for i in range(15):
    fake = G(torch.randn(32, 3))
    real = torch.randn(32, 2)
    dl = torch.relu(1 - D(real)).mean() + torch.relu(1 + D(fake.detach())).mean()
    do.zero_grad()
    dl.backward()
    do.step()
    gl = -D(fake).mean()
    go.zero_grad()
    gl.backward()
    go.step()
print(dl.item(), gl.item())
