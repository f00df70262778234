# expect: nothing

import torch
from torch import nn
from torch.distributions import Categorical


class AC(nn.Module):
    def __init__(self):
        super().__init__()
        self.b = nn.Sequential(nn.Linear(4, 32), nn.Tanh())
        self.pi, self.v = nn.Linear(32, 2), nn.Linear(32, 1)

    def forward(self, s):
        h = self.b(s)
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


torch.manual_seed(0)
ac = AC()
opt = torch.optim.Adam(ac.parameters(), lr=3e-3)
for u in range(80):
    logps, vals, rews, ents = [], [], [], []
    s = torch.randn(16, 4)
    for t in range(5):
        d, v = ac(s)
        a = d.sample()
        rews.append((a == (s[:, 0] > 0).long()).float())
        logps.append(d.log_prob(a))
        vals.append(v)
        ents.append(d.entropy())
        s = torch.randn(16, 4)
    R = torch.zeros(16)
    rets = []
    for r in reversed(rews):
        R = r + 0.5 * R
        rets.insert(0, R)
    rets, vals = torch.stack(rets), torch.stack(vals)
    adv = rets - vals
    loss = (
        -(torch.stack(logps) * adv.detach()).mean()
        + 0.5 * adv.pow(2).mean()
        - 0.01 * torch.stack(ents).mean()
    )
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(ac.parameters(), 0.5)
    opt.step()
    if u % 20 == 0:
        print(u, torch.stack(rews).mean().item())
