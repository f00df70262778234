# expect: missing-zero-grad line 16, 18, 19, 22
# The critic's optimizer is never cleared; the generator's is, twice.

import clew as torch
from clew import nn

torch.manual_seed(3)
G = nn.Sequential(nn.Linear(4, 16), nn.LeakyReLU(0.2), nn.Linear(16, 2))
D = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
opt_g = torch.optim.Adam(G.parameters(), lr=2e-3, betas=(0.5, 0.9))
opt_d = torch.optim.Adam(D.parameters(), lr=2e-3, betas=(0.5, 0.9))
bce = nn.BCEWithLogitsLoss()
for it in range(30):
    real = torch.randn(32, 2) * 0.3 + 1
    z = torch.randn(32, 4)
    opt_g.zero_grad()
    d_loss = bce(D(real), torch.ones(32, 1)) + bce(D(G(z).detach()), torch.zeros(32, 1))
    d_loss.backward()
    opt_d.step()
    opt_g.zero_grad()
    g_loss = bce(D(G(z)), torch.ones(32, 1))
    g_loss.backward()
    opt_g.step()
print(float(d_loss), float(g_loss))
