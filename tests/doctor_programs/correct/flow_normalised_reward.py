# expect: nothing

import torch
import torch.nn as nn

torch.manual_seed(0)
pi = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 3))
opt = torch.optim.Adam(pi.parameters(), lr=1e-3)
for i in range(40):
    s = torch.randn(64, 4)
    d = torch.distributions.Categorical(logits=pi(s))
    a = d.sample()
    r = torch.randn(64, 1).squeeze(1) + (a == s[:, :3].argmax(1)).float()
    adv = (r - r.mean()) / (r.std() + 1e-8)
    loss = -(d.log_prob(a) * adv).mean() - 0.01 * d.entropy().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
