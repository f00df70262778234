# expect: nothing
import copy
import math
import torch
from torch import nn

torch.manual_seed(6)
T = 50


class Denoiser(nn.Module):
    def __init__(self, d=2, h=64, classes=3):
        super().__init__()
        self.label = nn.Embedding(classes + 1, 16)
        self.time = nn.Sequential(nn.Linear(16, 32), nn.SiLU(), nn.Linear(32, 16))
        self.net = nn.Sequential(nn.Linear(d + 32, h), nn.SiLU(), nn.Linear(h, h), nn.SiLU(), nn.Linear(h, d))

    def embed(self, t):
        freq = torch.exp(-math.log(1000.0) * torch.arange(8) / 8)
        ang = t[:, None].float() * freq[None]
        return torch.cat([ang.sin(), ang.cos()], dim=1)

    def forward(self, x, t, y):
        cond = torch.cat([self.time(self.embed(t)), self.label(y)], dim=1)
        return self.net(torch.cat([x, cond], dim=1))


@torch.no_grad()
def ema_update(ema, model, decay=0.95):
    for e, p in zip(ema.parameters(), model.parameters()):
        e.mul_(decay).add_(p, alpha=1 - decay)


alpha_bar = torch.cos(torch.linspace(0, 0.98, T) * math.pi / 2) ** 2
model = Denoiser()
ema = copy.deepcopy(model).requires_grad_(False)
opt = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-4)
means = torch.tensor([[2.0, 0.0], [-1.0, 1.7], [-1.0, -1.7]])
for it in range(60):
    y = torch.randint(0, 3, (64,))
    x0 = means[y] + 0.2 * torch.randn(64, 2)
    y = torch.where(torch.rand(64) < 0.1, torch.full_like(y, 3), y)
    t = torch.randint(0, T, (64,))
    noise = torch.randn_like(x0)
    a = alpha_bar[t].sqrt().unsqueeze(1)
    s = (1 - alpha_bar[t]).sqrt().unsqueeze(1)
    xt = a * x0 + s * noise
    v = a * noise - s * x0
    loss = (model(xt, t, y) - v).pow(2).mean()
    opt.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    ema_update(ema, model)

with torch.no_grad():
    x = torch.randn(16, 2)
    for i in reversed(range(T)):
        t = torch.full((16,), i)
        v = ema(x, t, torch.zeros(16, dtype=torch.long))
        a, s = alpha_bar[i].sqrt(), (1 - alpha_bar[i]).sqrt()
        x0, eps = a * x - s * v, s * x + a * v
        prev = alpha_bar[i - 1] if i > 0 else torch.tensor(1.0)
        x = prev.sqrt() * x0 + (1 - prev).sqrt() * eps
print(loss.item(), x.mean().item())
