# expect: nan-origin line 59
import copy
import torch
import torch.nn as nn

torch.manual_seed(7)
T = 50
betas = torch.linspace(1e-4, 0.05, T)
alphas = 1 - betas
abar = torch.cumprod(alphas, 0)


class Denoiser(nn.Module):
    def __init__(self, d=2, h=48):
        super().__init__()
        self.temb = nn.Embedding(T, h)
        self.inp = nn.Linear(d, h)
        self.mid = nn.Sequential(nn.SiLU(), nn.Linear(h, h), nn.SiLU(), nn.Linear(h, d))

    def forward(self, x, t):
        return self.mid(self.inp(x) + self.temb(t))


def q_sample(x0, t, eps):
    a = abar[t].unsqueeze(-1)
    return a.sqrt() * x0 + (1 - a).sqrt() * eps


@torch.no_grad()
def sample(net, n):
    x = torch.randn(n, 2)
    for t in reversed(range(T)):
        eps = net(x, torch.full((n,), t))
        x = (x - betas[t] / (1 - abar[t]).sqrt() * eps) / alphas[t].sqrt()
        if t:
            x = x + betas[t].sqrt() * torch.randn_like(x)
    return x


@torch.no_grad()
def ema_update(avg, net, decay=0.95):
    for a, p in zip(avg.parameters(), net.parameters()):
        a.mul_(decay).add_(p, alpha=1 - decay)


angles = torch.rand(512) * 6.28
data = torch.stack([angles.cos(), angles.sin()], 1) + 0.05 * torch.randn(512, 2)
net = Denoiser()
ema = copy.deepcopy(net).requires_grad_(False)
opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
for step in range(40):
    x0 = data[torch.randint(0, 512, (64,))]
    t = torch.randint(0, T, (64,))
    eps = torch.randn_like(x0)
    pred = net(q_sample(x0, t, eps), t)
    snr = abar[t] / (1 - abar[t])
    weight = snr.clamp(max=5.0) / snr
    loss = (weight * (pred - eps).pow(2).mean(dim=1)).mean()
    loss = loss + 0.01 * (net.temb.weight.norm(dim=1) - net.temb.weight.norm(dim=1)).abs().pow(0.5).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    ema_update(ema, net)
print(sample(ema, 16).std())
