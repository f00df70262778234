# expect: inplace-saved-tensor line 26
# opt_d.step() changes D's weights that the generator's loss, computed before, still needs.
# saved: line 20

import torch
from torch import nn

torch.manual_seed(67)
G = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
D = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
opt_g = torch.optim.Adam(G.parameters(), lr=1e-3)
opt_d = torch.optim.Adam(D.parameters(), lr=1e-3)
bce = nn.BCEWithLogitsLoss()

for step in range(10):
    real = torch.randn(32, 2) * 0.3 + 1.0
    fake = G(torch.randn(32, 4))
    score_real = D(real)
    score_fake = D(fake.detach())
    score_for_g = D(fake)
    loss_d = bce(score_real, torch.ones(32, 1)) + bce(score_fake, torch.zeros(32, 1))
    loss_g = bce(score_for_g, torch.ones(32, 1))

    opt_d.zero_grad()
    loss_d.backward()
    opt_d.step()

    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
    print(step, loss_d.item(), loss_g.item())
