# expect: nothing
# All states want the same action: the policy's logits become alike, rightly.

import torch
from torch import nn

torch.manual_seed(0)
pi = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 5))
opt = torch.optim.Adam(pi.parameters(), lr=2e-2)
for i in range(80):
    s = torch.randn(32, 4)
    d = torch.distributions.Categorical(logits=pi(s))
    a = d.sample()
    r = (a == 2).float()
    loss = -(d.log_prob(a) * (r - r.mean())).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(r.mean().item())
