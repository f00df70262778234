# expect: missing-requires-grad line 37
import torch
import torch.nn as nn
import numpy as np

torch.manual_seed(4)
np.random.seed(4)


class Energy(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(2, 48), nn.SiLU(), nn.Linear(48, 48), nn.SiLU(), nn.Linear(48, 1))

    def forward(self, x):
        return self.f(x).squeeze(-1)


class Buffer:
    def __init__(self, n):
        self.data = np.random.uniform(-2, 2, (n, 2)).astype("float32")

    def draw(self, k):
        self.idx = np.random.choice(len(self.data), k, replace=False)
        x = torch.from_numpy(self.data[self.idx].copy())
        fresh = torch.rand(k) < 0.05
        x[fresh] = torch.rand(int(fresh.sum()), 2) * 4 - 2
        return x

    def put(self, x):
        self.data[self.idx] = x.detach().numpy()


def langevin(energy, x, steps=8, size=0.1):
    for p in energy.parameters():
        p.requires_grad_(False)
    x = x.clone()
    for _ in range(steps):
        e = energy(x).sum()
        (g,) = torch.autograd.grad(e, x)
        x.data.add_(-size * g + 0.01 * torch.randn_like(x))
    for p in energy.parameters():
        p.requires_grad_(True)
    return x.detach()


energy, buffer = Energy(), Buffer(256)
opt = torch.optim.Adam(energy.parameters(), lr=1e-3)
for it in range(40):
    theta = torch.rand(64) * 6.283
    real = torch.stack([theta.cos(), theta.sin()], 1) + 0.05 * torch.randn(64, 2)
    fake = langevin(energy, buffer.draw(64))
    buffer.put(fake)
    e_real, e_fake = energy(real), energy(fake)
    loss = e_real.mean() - e_fake.mean() + 0.1 * (e_real ** 2 + e_fake ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 10 == 0:
        print(it, f"{loss.item():.4f}")
