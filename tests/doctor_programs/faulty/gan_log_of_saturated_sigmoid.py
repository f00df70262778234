# expect: nan-origin line 16, 21
# log(1 - D) reaches log(0) once the discriminator is certain in float32.

import torch
from torch import nn

torch.manual_seed(327)
G = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 2))
D = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 1), nn.Sigmoid())
opt_g = torch.optim.Adam(G.parameters(), lr=1e-4)
opt_d = torch.optim.Adam(D.parameters(), lr=2e-2)

for step in range(60):
    real = torch.randn(32, 2) * 3 + 40.0
    fake = 60.0 * G(torch.randn(32, 2))
    loss_d = -(torch.log(D(real)) + torch.log(1 - D(fake.detach()))).mean()
    opt_d.zero_grad()
    loss_d.backward()
    opt_d.step()

    loss_g = -torch.log(D(fake)).mean()
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
    if step % 10 == 0:
        print(step, loss_d.item(), loss_g.item())
