# expect: wrong-reduction line 24, 25, 26
# The reconstruction is averaged over everything, the KL term is summed.

import torch
import torch.nn as nn
import torch.nn.functional as F


class Vae(nn.Module):
    def __init__(self, d=20, z=4):
        super().__init__()
        self.enc = nn.Linear(d, 32)
        self.mu, self.lv = nn.Linear(32, z), nn.Linear(32, z)
        self.dec = nn.Sequential(nn.Linear(z, 32), nn.ReLU(), nn.Linear(32, d))

    def forward(self, x):
        h = torch.relu(self.enc(x))
        mu, lv = self.mu(h), self.lv(h)
        z = mu + torch.randn_like(mu) * (0.5 * lv).exp()
        return self.dec(z), mu, lv


def elbo(rec, x, mu, lv):
    rec_loss = F.mse_loss(rec, x)
    kl = -0.5 * torch.sum(1 + lv - mu.pow(2) - lv.exp())
    return rec_loss + kl


torch.manual_seed(0)
vae = Vae()
opt = torch.optim.Adam(vae.parameters(), lr=1e-3)
basis = torch.randn(3, 20)
for i in range(30):
    x = torch.randn(64, 3) @ basis
    loss = elbo(*((lambda r: (r[0], x, r[1], r[2]))(vae(x))))
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
