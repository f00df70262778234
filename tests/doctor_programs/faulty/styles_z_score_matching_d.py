# expect: missing-step line 43, 50
import torch
from torch import nn

torch.manual_seed(24)
sigmas = torch.logspace(0, -1.3, 6)


class ScoreNet(nn.Module):
    def __init__(self, d=2, h=64):
        super().__init__()
        self.embed = nn.Embedding(len(sigmas), 16)
        self.inp = nn.Linear(d + 16, h)
        self.mid = nn.ModuleList([nn.Linear(h, h) for _ in range(2)])
        self.out = nn.Linear(h, d)

    def forward(self, x, level):
        h = nn.functional.silu(self.inp(torch.cat([x, self.embed(level)], 1)))
        for layer in self.mid:
            h = h + nn.functional.silu(layer(h))
        return self.out(h) / sigmas[level, None]


def dsm(net, x):
    level = torch.randint(len(sigmas), (len(x),))
    s = sigmas[level, None]
    noise = torch.randn_like(x)
    score = net(x + s * noise, level)
    return 0.5 * ((s * score + noise) ** 2).sum(1).mean()


def langevin(net, n=20, steps=5):
    x = torch.randn(n, 2)
    for k in range(len(sigmas)):
        level = torch.full((n,), k)
        size = 0.05 * (sigmas[k] / sigmas[-1]) ** 2 * sigmas[-1] ** 2
        for _ in range(steps):
            x = x + size * net(x, level) + (2 * size).sqrt() * torch.randn_like(x)
    return x


net = ScoreNet()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=60)
for it in range(60):
    sign = torch.randint(0, 2, (64, 1)) * 2.0 - 1
    x = 1.5 * sign + 0.3 * torch.randn(64, 2)
    loss = dsm(net, x)
    opt.zero_grad()
    loss.backward()
    sched.step()
with torch.no_grad():
    samples = langevin(net)
print(loss.item(), samples.std().item())
