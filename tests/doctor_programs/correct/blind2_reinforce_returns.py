# expect: nothing

import clew as torch
import clew.nn as nn
from clew.distributions import Categorical

torch.manual_seed(0)
pi = nn.Sequential(nn.Linear(3, 24), nn.ReLU(), nn.Linear(24, 2))
opt = torch.optim.Adam(pi.parameters(), lr=1e-2)
for ep in range(20):
    s = torch.randn(3)
    logs, rews = [], []
    for t in range(12):
        d = Categorical(logits=pi(s))
        a = d.sample()
        logs.append(d.log_prob(a))
        rews.append(1.0 if a.item() == int(s[0] > 0) else 0.0)
        s = 0.8 * s + 0.5 * torch.randn(3)
    R, rets = 0.0, []
    for r in reversed(rews):
        R = r + 0.9 * R
        rets.insert(0, R)
    rets = torch.tensor(rets)
    rets = (rets - rets.mean()) / (rets.std() + 1e-8)
    loss = torch.stack([-l * g for l, g in zip(logs, rets)]).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if ep % 5 == 0:
        print(ep, sum(rews))
