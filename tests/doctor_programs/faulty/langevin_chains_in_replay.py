# expect: graph-leak line 39
import random
import torch
import torch.nn as nn

random.seed(1)
torch.manual_seed(1)

energy = nn.Sequential(nn.Linear(2, 32), nn.SiLU(), nn.Linear(32, 32), nn.SiLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(energy.parameters(), lr=2e-3)
replay = []


def positives(n):
    c = torch.tensor([[1.0, 1.0], [-1.0, -1.0]])[torch.randint(0, 2, (n,))]
    return c + 0.15 * torch.randn(n, 2)


def langevin(x, k=6, eta=0.05, noise=0.02):
    x = x.requires_grad_(True)
    for _ in range(k):
        g = torch.autograd.grad(energy(x).sum(), x, create_graph=True)[0]
        x = x - eta * g + noise * torch.randn_like(x)
    return x


def initial(n):
    fresh = torch.rand(n, 2) * 4 - 2
    if len(replay) < 5:
        return fresh
    old = random.choice(replay).detach()
    keep = (torch.rand(n, 1) < 0.9).float()
    return keep * old + (1 - keep) * fresh


for it in range(120):
    pos = positives(32)
    neg = langevin(initial(32))
    replay.append(neg)
    e_pos, e_neg = energy(pos), energy(neg.detach())
    loss = (e_pos - e_neg).mean() + 0.1 * (e_pos**2 + e_neg**2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 30 == 0 or it == 119:
        print(f"it {it} loss {loss.item():.4f} gap {(e_pos - e_neg).mean().item():.4f}")
