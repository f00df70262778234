# expect: loss-activation-mismatch line 25, 32
from __future__ import annotations
from dataclasses import dataclass
import torch
from torch import Tensor, nn
import torch.nn.functional as F


@dataclass
class Posterior:
    mean: Tensor
    logvar: Tensor

    def sample(self) -> Tensor:
        return self.mean + torch.randn_like(self.mean) * (0.5 * self.logvar).exp()

    def kl(self) -> Tensor:
        return 0.5 * (self.mean ** 2 + self.logvar.exp() - 1 - self.logvar).sum(1).mean()


class CondVAE(nn.Module):
    def __init__(self, x=24, c=3, z=3):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(x + c, 32), nn.ReLU(), nn.Linear(32, 2 * z))
        self.dec = nn.Sequential(nn.Linear(z + c, 32), nn.ReLU(), nn.Linear(32, x), nn.Sigmoid())
        self.c = c

    def elbo(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        c = F.one_hot(y, self.c).float()
        post = Posterior(*self.enc(torch.cat([x, c], 1)).chunk(2, 1))
        logits = self.dec(torch.cat([post.sample(), c], 1))
        rec = F.binary_cross_entropy_with_logits(logits, x, reduction="none").sum(1).mean()
        return rec, post.kl()


def digits(n):
    y = torch.randint(0, 3, (n,))
    p = torch.full((n, 24), 0.1)
    for i in range(3):
        p[y == i, 8 * i : 8 * i + 8] = 0.9
    return torch.bernoulli(p), y


if __name__ == "__main__":
    torch.manual_seed(808)
    vae = CondVAE()
    opt = torch.optim.Adam(vae.parameters(), lr=3e-3)
    for epoch in range(40):
        rec, kl = vae.elbo(*digits(48))
        loss = rec + min(1.0, epoch / 20) * kl
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(loss.item())
