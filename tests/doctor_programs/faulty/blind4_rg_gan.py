# expect: retain-graph-misuse line 18

import torch
import torch.nn as nn

torch.manual_seed(0)
gen = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
disc = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
g_opt = torch.optim.Adam(gen.parameters(), lr=1e-3)
d_opt = torch.optim.Adam(disc.parameters(), lr=1e-3)
loss_fn = nn.BCEWithLogitsLoss()
one, zero = torch.ones(32, 1), torch.zeros(32, 1)
for step in range(80):
    real = torch.randn(32, 2) * 0.3 + torch.tensor([1.0, -1.0])
    fake = gen(torch.randn(32, 4))
    d_loss = loss_fn(disc(real), one) + loss_fn(disc(fake.detach()), zero)
    d_opt.zero_grad()
    d_loss.backward(retain_graph=True)
    d_opt.step()
    g_loss = loss_fn(disc(fake), one)
    g_opt.zero_grad()
    g_loss.backward()
    g_opt.step()
    if step % 20 == 0:
        print(step, d_loss.item(), g_loss.item())
