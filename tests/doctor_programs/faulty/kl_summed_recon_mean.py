# expect: wrong-reduction line 15, 16, 17
# The reconstruction is a mean, the divergence from torch.distributions is summed.

import torch
from torch import nn
from torch.distributions import Normal, kl_divergence

torch.manual_seed(0)
enc, dec = nn.Linear(10, 6), nn.Linear(3, 10)
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], lr=2e-3)
for i in range(25):
    x = torch.randn(32, 10)
    mu, ls = enc(x).chunk(2, 1)
    q = Normal(mu, ls.exp())
    rec = nn.functional.mse_loss(dec(q.rsample()), x)
    kl = kl_divergence(q, Normal(0.0, 1.0)).sum()
    loss = rec + kl
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
