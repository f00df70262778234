# expect: inplace-saved-tensor line 22
# The generator's loss is back-propagated through a discriminator that was updated after the
# forward.

import torch
from torch import nn

torch.manual_seed(0)
G = nn.Sequential(nn.Linear(3, 12), nn.ReLU(), nn.Linear(12, 2))
D = nn.Sequential(nn.Linear(2, 12), nn.ReLU(), nn.Linear(12, 1))
og, od = torch.optim.Adam(G.parameters(), 1e-3), torch.optim.Adam(D.parameters(), 1e-3)
bce = nn.functional.binary_cross_entropy_with_logits
for it in range(5):
    fake = G(torch.randn(16, 3))
    score = D(fake)
    g_loss = bce(score, torch.ones(16, 1))
    d_loss = bce(D(torch.randn(16, 2)), torch.ones(16, 1)) + bce(
        D(fake.detach()), torch.zeros(16, 1)
    )
    od.zero_grad()
    d_loss.backward()
    od.step()
    og.zero_grad()
    g_loss.backward()
    og.step()
