# expect: loss-broadcast line 30
# The critic's (N, 1) values meet (N,) returns.

import torch
from torch import nn


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(4, 32), nn.Tanh())
        self.pi, self.v = nn.Linear(32, 3), nn.Linear(32, 1)

    def forward(self, s):
        h = self.shared(s)
        return self.pi(h), self.v(h)


torch.manual_seed(0)
ac = ActorCritic()
opt = torch.optim.Adam(ac.parameters(), lr=1e-3)
for rollout in range(15):
    s = torch.randn(40, 4)
    logits, v = ac(s)
    dist = torch.distributions.Categorical(logits=logits)
    a = dist.sample()
    ret = s[:, 0] * a.float()
    adv = (ret - v.squeeze(1)).detach()
    policy_loss = -(dist.log_prob(a) * adv).mean()
    value_loss = (ret - v).pow(2).mean()
    loss = policy_loss + 0.5 * value_loss - 0.01 * dist.entropy().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
