# expect: wrong-reduction line 21, 22, 23
# The reconstruction is averaged and the KL term is summed over batch and latents.

import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.dec = nn.Linear(12, 8), nn.Linear(4, 12)

    def forward(self, x):
        mu, lv = self.enc(x).chunk(2, dim=1)
        z = mu + torch.randn_like(mu) * (lv / 2).exp()
        return self.dec(z), mu, lv


def elbo(x, rec, mu, lv):
    rec_term = F.mse_loss(rec, x)
    kl = -0.5 * torch.sum(1 + lv - mu**2 - lv.exp())
    return rec_term + kl


torch.manual_seed(0)
m = Model()
opt = torch.optim.Adam(m.parameters(), lr=1e-3)
X = torch.randn(256, 12)
for epoch in range(5):
    for x in X.split(64):
        loss = elbo(x, *m(x))
        opt.zero_grad()
        loss.backward()
        opt.step()
print(loss.item())
