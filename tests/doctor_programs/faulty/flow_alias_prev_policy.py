# expect: aliased-buffer line 9

import torch
from torch import nn

torch.manual_seed(0)
pi = nn.Linear(4, 2)
old = nn.Linear(4, 2)
old.weight, old.bias = pi.weight, pi.bias
opt = torch.optim.Adam(pi.parameters(), lr=1e-2)
for i in range(30):
    s = torch.randn(32, 4)
    a = torch.randint(0, 2, (32,))
    adv = torch.randn(32)
    with torch.no_grad():
        lo = torch.distributions.Categorical(logits=old(s)).log_prob(a)
    ln = torch.distributions.Categorical(logits=pi(s)).log_prob(a)
    ratio = (ln - lo).exp()
    loss = -torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
