# expect: collapsed-representation line 9, 20
# Only positives are pulled together: the encoder maps everything to one point.

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 8))
opt = torch.optim.Adam(encoder.parameters(), lr=1e-2)


def views(x):
    return x + 0.3 * torch.randn_like(x), x + 0.3 * torch.randn_like(x)


for it in range(150):
    a, b = views(torch.randn(64, 10))
    za, zb = F.normalize(encoder(a), dim=1), F.normalize(encoder(b), dim=1)
    loss = -(za * zb).sum(1).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
