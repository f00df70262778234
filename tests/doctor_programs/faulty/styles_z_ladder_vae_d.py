# expect: non-scalar-backward line 50, 52
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal, kl_divergence

torch.manual_seed(18)


class Gaussian(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.mean, self.raw = nn.Linear(i, o), nn.Linear(i, o)

    def forward(self, h):
        return Normal(self.mean(h), F.softplus(self.raw(h)) + 1e-3)


class LadderVAE(nn.Module):
    def __init__(self, x=24, h=48):
        super().__init__()
        self.up1 = nn.Sequential(nn.Linear(x, h), nn.ELU())
        self.up2 = nn.Sequential(nn.Linear(h, h), nn.ELU())
        self.q2, self.q1 = Gaussian(h, 4), Gaussian(h + 4, 8)
        self.p1 = Gaussian(4, 8)
        self.decode = nn.Sequential(nn.Linear(8, h), nn.ELU(), nn.Linear(h, x))

    def forward(self, x):
        d1 = self.up1(x)
        d2 = self.up2(d1)
        q2 = self.q2(d2)
        z2 = q2.rsample()
        q1 = self.q1(torch.cat([d1, z2], 1))
        z1 = q1.rsample()
        kl2 = kl_divergence(q2, Normal(torch.zeros(4), torch.ones(4))).sum(1)
        kl1 = kl_divergence(q1, self.p1(z2)).sum(1)
        return self.decode(z1), kl1, kl2


model = LadderVAE()
opt = torch.optim.Adamax(model.parameters(), lr=3e-3)
basis = torch.randn(3, 24)
data = torch.tanh(torch.randn(256, 3) @ basis) + 0.05 * torch.randn(256, 24)
for epoch in range(6):
    beta = min(1.0, (epoch + 1) / 4)
    for x in data[torch.randperm(256)].split(64):
        out, kl1, kl2 = model(x)
        recon = F.mse_loss(out, x, reduction="none").sum(1)
        kl = kl1.clamp(min=0.2) + kl2.clamp(min=0.2)
        loss = recon + 0.05 * beta * kl
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item(), kl.mean().item())
