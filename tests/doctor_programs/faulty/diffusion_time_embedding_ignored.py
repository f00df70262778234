# expect: param-unused line 12, 18, 19
# The denoiser has a time embedding, forward() takes t and never uses either.

import torch
import torch.nn.functional as F
from torch import nn


class Denoiser(nn.Module):
    def __init__(self, dim=2, hidden=32):
        super().__init__()
        self.time = nn.Sequential(nn.Embedding(50, 8), nn.Linear(8, hidden), nn.SiLU())
        self.inp = nn.Linear(dim, hidden)
        self.mid = nn.Linear(hidden, hidden)
        self.out = nn.Linear(hidden, dim)

    def forward(self, x, t):
        h = F.silu(self.inp(x))
        h = F.silu(self.mid(h))
        return self.out(h)


torch.manual_seed(182)
steps = 50
alpha_bar = torch.cumprod(1 - torch.linspace(1e-3, 0.1, steps), dim=0)
net = Denoiser()
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
data = torch.randn(256, 2) * 0.2 + torch.tensor([1.0, -0.5])
for it in range(30):
    x0 = data[torch.randint(0, 256, (64,))]
    t = torch.randint(0, steps, (64,))
    noise = torch.randn_like(x0)
    a = alpha_bar[t].unsqueeze(1)
    noisy = a.sqrt() * x0 + (1 - a).sqrt() * noise
    loss = F.mse_loss(net(noisy, t), noise)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it % 10 == 0:
        print(it, loss.item())
