# expect: detached-graph line 20, 21

import torch
from torch import nn
from torch.distributions import Normal


class CVAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.GRU(3, 16, batch_first=True)
        self.mu = nn.Linear(16, 4)
        self.lv = nn.Linear(16, 4)
        self.p = nn.GRU(4, 16, batch_first=True)
        self.o = nn.Linear(16, 3)

    def forward(self, x):
        _, h = self.q(x)
        mu, lv = self.mu(h[-1]), self.lv(h[-1])
        with torch.no_grad():
            z = mu + torch.randn_like(mu) * torch.exp(0.5 * lv)
        y, _ = self.p(z.unsqueeze(1).expand(-1, x.size(1), -1))
        return self.o(y), mu, lv


torch.manual_seed(0)
m = CVAE()
opt = torch.optim.Adam(m.parameters(), lr=1e-3)
for i in range(25):
    x = torch.randn(8, 6, 3).cumsum(1)
    y, mu, lv = m(x)
    nll = -Normal(y, 1.0).log_prob(x).sum((1, 2))
    kl = -0.5 * (1 + lv - mu**2 - lv.exp()).sum(1)
    loss = torch.mean(nll + kl)
    opt.zero_grad()
    loss.backward()
    opt.step()
