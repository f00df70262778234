# expect: nothing
# Invariance, variance and covariance terms keep the outputs apart.

import clew as torch
from clew import nn

torch.manual_seed(0)
enc = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 8))
opt = torch.optim.Adam(enc.parameters(), lr=2e-3)


def spread(z):
    std = torch.sqrt(z.var(0) + 1e-4)
    z = z - z.mean(0)
    cov = (z.t() @ z) / (len(z) - 1)
    off = cov - torch.diag(torch.diag(cov))
    return torch.relu(1 - std).mean() + off.pow(2).sum() / z.shape[1]


for i in range(40):
    x = torch.randn(48, 8)
    a, b = enc(x + 0.1 * torch.randn_like(x)), enc(x + 0.1 * torch.randn_like(x))
    loss = 25 * nn.functional.mse_loss(a, b) + 25 * (spread(a) + spread(b))
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
