# expect: nothing
# VAE whose two terms are both summed, then divided by the batch size.

import torch
import torch.nn.functional as F
from torch import nn


class VAE(nn.Module):
    def __init__(s):
        super().__init__()
        s.e = nn.Linear(12, 16)
        s.m = nn.Linear(16, 3)
        s.v = nn.Linear(16, 3)
        s.d = nn.Linear(3, 12)

    def forward(s, x):
        h = F.relu(s.e(x))
        mu, lv = s.m(h), s.v(h)
        return torch.sigmoid(s.d(mu + torch.randn_like(mu) * (0.5 * lv).exp())), mu, lv


torch.manual_seed(0)
vae = VAE()
opt = torch.optim.Adam(vae.parameters(), 1e-3)
X = (torch.rand(128, 12) > 0.5).float()
for ep in range(6):
    run = 0
    for x in X.split(32):
        r, mu, lv = vae(x)
        loss = (
            F.binary_cross_entropy(r, x, reduction="sum")
            - 0.5 * (1 + lv - mu.pow(2) - lv.exp()).sum()
        )
        opt.zero_grad()
        (loss / len(x)).backward()
        opt.step()
        run += loss.item()
    print(ep, run / 128)
