# expect: nothing

import torch
from torch import nn
from torch.distributions import Normal, kl_divergence

torch.manual_seed(1)
enc = nn.Linear(20, 6)
dec = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 20))
optim = torch.optim.Adam(list(enc.parameters()) + list(dec.parameters()), lr=1e-3)
for it in range(30):
    b = torch.randn(32, 20)
    m, s = enc(b).chunk(2, 1)
    q = Normal(m, nn.functional.softplus(s) + 1e-3)
    z = q.rsample()
    recon = ((dec(z) - b) ** 2).sum(1)
    with torch.no_grad():
        track = dec(q.sample()).mean()
    kl = kl_divergence(q, Normal(0.0, 1.0)).sum(1)
    loss = (recon + kl).mean()
    optim.zero_grad()
    loss.backward()
    optim.step()
