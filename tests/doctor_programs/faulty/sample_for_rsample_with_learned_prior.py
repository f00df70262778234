# expect: detached-graph line 24
import torch
from torch import nn
from torch.distributions import Normal, kl_divergence

torch.manual_seed(9)


class Conditional(nn.Module):
    def __init__(self):
        super().__init__()
        self.prior = nn.Linear(4, 6)
        self.posterior = nn.Sequential(nn.Linear(7, 24), nn.Tanh(), nn.Linear(24, 6))
        self.decoder = nn.Sequential(nn.Linear(7, 24), nn.Tanh(), nn.Linear(24, 3))

    @staticmethod
    def normal(out):
        mean, log_std = out.chunk(2, -1)
        return Normal(mean, log_std.clamp(-4, 2).exp())

    def forward(self, condition, target):
        p = self.normal(self.prior(condition))
        q = self.normal(self.posterior(torch.cat([condition, target], 1)))
        z = q.sample()
        out = self.decoder(torch.cat([condition, z], 1))
        misfit = (out - target).pow(2).sum(1)
        return (misfit + 0.5 * kl_divergence(q, p).sum(1)).mean()


model = Conditional()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
c = torch.randn(256, 4)
t = torch.tanh(c[:, :3]) + 0.1 * torch.randn(256, 3)
for step in range(40):
    rows = torch.randint(0, 256, (32,))
    loss = model(c[rows], t[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
