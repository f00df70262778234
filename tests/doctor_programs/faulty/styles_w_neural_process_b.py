# expect: retain-graph-misuse line 40
import torch
import torch.nn as nn
from torch.distributions import Normal, kl_divergence


class NP(nn.Module):
    def __init__(self, d=24, z=8):
        super().__init__()
        self.point = nn.Sequential(nn.Linear(2, d), nn.ReLU(), nn.Linear(d, d))
        self.to_z = nn.Linear(d, 2 * z)
        self.dec = nn.Sequential(nn.Linear(z + 1, d), nn.ReLU(), nn.Linear(d, 2))

    def latent(self, x, y):
        r = self.point(torch.cat([x, y], -1)).mean(1)
        m, s = self.to_z(r).chunk(2, -1)
        return Normal(m, 0.1 + 0.9 * s.sigmoid())

    def forward(self, xc, yc, xt, yt):
        q_t, q_c = self.latent(xt, yt), self.latent(xc, yc)
        z = q_t.rsample()[:, None].expand(-1, xt.shape[1], -1)
        m, s = self.dec(torch.cat([xt, z], -1)).chunk(2, -1)
        like = Normal(m, 0.1 + 0.9 * nn.functional.softplus(s)).log_prob(yt).sum((1, 2))
        return -(like - kl_divergence(q_t, q_c).sum(1)).mean() / xt.shape[1]


def curves(b=12, n=20):
    x = torch.rand(b, n, 1) * 4 - 2
    return x, torch.sin(2 * x + torch.rand(b, 1, 1) * 3) * (0.5 + torch.rand(b, 1, 1))


torch.manual_seed(1616)
net = NP()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for it in range(30):
    x, y = curves()
    k = int(torch.randint(3, 12, ()))
    loss = net(x[:, :k], y[:, :k], x, y)
    opt.zero_grad()
    loss.backward(retain_graph=True)
    opt.step()
print(it)
