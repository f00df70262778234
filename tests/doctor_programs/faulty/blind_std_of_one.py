# expect: nan-origin line 16
# The returns are normalised by the deviation of a single-element rollout.

import clew as torch
from clew import nn

torch.manual_seed(0)
pi = nn.Linear(3, 2)
opt = torch.optim.Adam(pi.parameters(), lr=1e-2)
for ep in range(8):
    T = 4 if ep < 4 else 1
    s = torch.randn(T, 3)
    dist = torch.distributions.Categorical(logits=pi(s))
    a = dist.sample()
    r = (a == 0).float() + 0.1 * torch.randn(T)
    r = (r - r.mean()) / r.std()
    loss = -(dist.log_prob(a) * r).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
