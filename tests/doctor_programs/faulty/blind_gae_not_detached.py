# expect: target-not-detached line 29, 30
# Advantages come from the value head and stay in the graph of the policy loss.

import torch
from torch import nn
from torch.distributions import Categorical


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(4, 32), nn.Tanh())
        self.pi = nn.Linear(32, 2)
        self.v = nn.Linear(32, 1)

    def forward(self, s):
        h = self.f(s)
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


torch.manual_seed(0)
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
for it in range(20):
    s = torch.randn(64, 4)
    dist, values = net(s)
    a = dist.sample()
    returns = torch.where(a == (s[:, 0] > 0).long(), 1.0, 0.0)
    adv = returns - values
    actor = -(dist.log_prob(a) * adv).mean()
    critic = nn.functional.mse_loss(values, returns)
    opt.zero_grad()
    (actor + 0.5 * critic).backward()
    opt.step()
