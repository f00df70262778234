# expect: param-not-in-optimizer line 20, 28, 29

import torch
import torch.nn as nn
from torch.distributions import Categorical


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 2))

    def forward(self, s):
        return self.net(s)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, s):
        return self.net(s).squeeze(-1)


def main():
    torch.manual_seed(0)
    actor, critic = Actor(), Critic()
    opt = torch.optim.Adam(actor.parameters(), lr=3e-3)
    for upd in range(80):
        s = torch.randn(32, 3)
        dist = Categorical(logits=actor(s))
        a = dist.sample()
        r = torch.where(a == (s[:, 0] > 0).long(), 1.0, 0.0)
        v = critic(s)
        adv = (r - v).detach()
        loss = (
            -(dist.log_prob(a) * adv).mean()
            + 0.5 * (r - v).pow(2).mean()
            - 0.01 * dist.entropy().mean()
        )
        opt.zero_grad()
        critic.zero_grad()
        loss.backward()
        opt.step()
        if upd % 20 == 0:
            print(upd, r.mean().item())


main()
