# expect: bad-learning-rate line 50
import math
from typing import NamedTuple
import torch
import torch.nn as nn
import torch.nn.functional as F


class Sampled(NamedTuple):
    out: torch.Tensor
    kl: torch.Tensor


class BayesLinear(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.mu = nn.Parameter(torch.empty(o, i).uniform_(-0.3, 0.3))
        self.rho = nn.Parameter(torch.full((o, i), -4.0))
        self.bias = nn.Parameter(torch.zeros(o))

    def forward(self, x):
        sigma = F.softplus(self.rho)
        q = torch.distributions.Normal(self.mu, sigma)
        w = q.rsample()
        kl = torch.distributions.kl_divergence(q, torch.distributions.Normal(0.0, 0.5)).sum()
        return Sampled(F.linear(x, w, self.bias), kl)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1, self.l2 = BayesLinear(1, 16), BayesLinear(16, 1)

    def forward(self, x):
        h, k1 = self.l1(x)
        y, k2 = self.l2(torch.tanh(h))
        return Sampled(y, k1 + k2)


def elbo(net, x, y, n_data):
    out, kl = net(x)
    return F.mse_loss(out, y) / (2 * 0.1) + kl / n_data


def experiment(seed):
    torch.manual_seed(seed)
    x = torch.linspace(-2, 2, 128)[:, None]
    y = torch.sin(2 * x) + 0.1 * torch.randn_like(x)
    net = Net()
    opt = torch.optim.Adam(net.parameters(), lr=5e-11)
    for epoch in range(8):
        for idx in torch.randperm(128).split(32):
            opt.zero_grad()
            loss = elbo(net, x[idx], y[idx], 128)
            loss.backward()
            opt.step()
    with torch.no_grad():
        samples = torch.stack([net(x).out for _ in range(5)])
    print(seed, f"{loss.item():.3f} {samples.std(0).mean():.3f}")


experiment(0)
experiment(1)
