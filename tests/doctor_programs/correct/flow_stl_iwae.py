# expect: nothing

import torch
from torch import nn
from torch.distributions import Normal

torch.manual_seed(0)
enc, dec = (
    nn.Sequential(nn.Linear(12, 32), nn.Tanh(), nn.Linear(32, 8)),
    nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 12)),
)
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], lr=1e-3)
for i in range(40):
    x = torch.randn(32, 12)
    mu, ls = enc(x).chunk(2, 1)
    z = Normal(mu, ls.exp()).rsample()
    logq = Normal(mu.detach(), ls.exp().detach()).log_prob(z).sum(1)
    logp = Normal(0.0, 1.0).log_prob(z).sum(1) + Normal(dec(z), 1.0).log_prob(x).sum(1)
    loss = (logq - logp).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
