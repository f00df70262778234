# expect: nothing
# A denoising diffusion model with a learned time embedding.

import torch
import torch.nn.functional as F
from torch import nn


class Denoiser(nn.Module):
    def __init__(self, steps=40, hidden=48):
        super().__init__()
        self.time = nn.Embedding(steps, hidden)
        self.inp, self.mid, self.out = (
            nn.Linear(2, hidden),
            nn.Linear(hidden, hidden),
            nn.Linear(hidden, 2),
        )

    def forward(self, x, t):
        h = F.silu(self.inp(x) + self.time(t))
        return self.out(F.silu(self.mid(h)))


torch.manual_seed(426)
alpha_bar = torch.cumprod(1 - torch.linspace(1e-3, 0.12, 40), dim=0)
net = Denoiser()
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
losses = []
for _ in range(80):
    x0 = torch.randn(128, 2) * 0.1 + torch.tensor([1.0, -1.0])
    t = torch.randint(0, 40, (128,))
    noise = torch.randn_like(x0)
    a = alpha_bar[t].unsqueeze(1)
    loss = F.mse_loss(net(a.sqrt() * x0 + (1 - a).sqrt() * noise, t), noise)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
with torch.no_grad():
    sample = torch.randn(4, 2)
    estimate = net(sample, torch.full((4,), 39))
print("estimate", estimate.abs().mean().item())
print(sum(losses[:5]) / 5, sum(losses[-5:]) / 5)
