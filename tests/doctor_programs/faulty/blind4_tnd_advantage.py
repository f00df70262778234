# expect: target-not-detached line 22, 23

import clew as torch
from clew import nn
from clew.distributions import Categorical


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 32), nn.Tanh())
        self.pi = nn.Linear(32, 3)
        self.v = nn.Linear(32, 1)

    def forward(self, s):
        h = self.body(s)
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


def update(ac, opt, s, a, ret):
    dist, v = ac(s)
    adv = ret - v
    pg = -(dist.log_prob(a) * adv).mean()
    vf = adv.pow(2).mean()
    loss = pg + 0.5 * vf - 0.01 * dist.entropy().mean()
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(ac.parameters(), 0.5)
    opt.step()
    return loss.item()


torch.manual_seed(0)
ac = ActorCritic()
opt = torch.optim.Adam(ac.parameters(), lr=2e-3)
for it in range(80):
    s = torch.randn(32, 4)
    with torch.no_grad():
        a = ac(s)[0].sample()
    r = (a == s[:, :3].argmax(1)).float()
    l = update(ac, opt, s, a, r)
    if it % 20 == 0:
        print(it, l, r.mean().item())
