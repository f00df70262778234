# expect: missing-zero-grad line 17, 18, 19, 21

import clew as torch
from clew import nn

torch.manual_seed(1)
G = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
D = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
g_opt = torch.optim.Adam(G.parameters(), lr=1e-3)
d_opt = torch.optim.Adam(D.parameters(), lr=1e-3)
bce = nn.BCEWithLogitsLoss()
ones, zeros = torch.ones(64, 1), torch.zeros(64, 1)
for step in range(40):
    real = torch.randn(64, 2) * 0.5 + 1.0
    fake = G(torch.randn(64, 4))
    d_loss = bce(D(real), ones) + bce(D(fake.detach()), zeros)
    d_loss.backward()
    d_opt.step()
    g_opt.zero_grad()
    g_loss = bce(D(fake), ones)
    g_loss.backward()
    g_opt.step()
    if step % 10 == 0:
        print(d_loss.item(), g_loss.item())
