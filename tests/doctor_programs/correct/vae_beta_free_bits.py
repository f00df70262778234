# expect: nothing
# A VAE with free bits: both terms per sample, then the mean.

import clew as torch
from clew import nn
import clew.nn.functional as F


class Vae(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 8))
        self.d = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 12))

    def forward(self, x):
        mu, lv = self.e(x).chunk(2, -1)
        z = mu + torch.randn_like(mu) * torch.exp(lv / 2)
        rec = F.mse_loss(self.d(z), x, reduction="none").sum(1)
        kl = (-0.5 * (1 + lv - mu**2 - lv.exp())).clamp(min=0.1).sum(1)
        return (rec + kl).mean(), rec.mean().item(), kl.mean().item()


torch.manual_seed(0)
vae = Vae()
opt = torch.optim.Adam(vae.parameters(), lr=2e-3)
mix = torch.randn(3, 12)
for i in range(30):
    loss, r, k = vae(torch.randn(48, 3) @ mix)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(r, k)
