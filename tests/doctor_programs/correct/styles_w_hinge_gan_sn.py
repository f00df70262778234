# expect: nothing
import torch
import torch.nn as nn
from torch.nn.utils import spectral_norm

torch.manual_seed(21)
Z = 6


class G(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(nn.Linear(Z, 32), nn.BatchNorm1d(32), nn.ReLU(True), nn.Linear(32, 2))

    def forward(self, z):
        return self.main(z)


class D(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            spectral_norm(nn.Linear(2, 32)), nn.LeakyReLU(0.2, inplace=True), spectral_norm(nn.Linear(32, 1))
        )

    def forward(self, x):
        return self.main(x).view(-1)


def real_batch(n):
    c = torch.randint(0, 4, (n,))
    return torch.stack([(c % 2) * 2.0 - 1, (c // 2) * 2.0 - 1], 1) + 0.1 * torch.randn(n, 2)


class GANTrainer:
    def __init__(self):
        self.g, self.d = G(), D()
        self.og = torch.optim.Adam(self.g.parameters(), 2e-3, betas=(0.0, 0.9))
        self.od = torch.optim.Adam(self.d.parameters(), 4e-3, betas=(0.0, 0.9))

    def d_step(self, real):
        fake = self.g(torch.randn(len(real), Z)).detach()
        loss = torch.relu(1 - self.d(real)).mean() + torch.relu(1 + self.d(fake)).mean()
        self.od.zero_grad()
        loss.backward()
        self.od.step()
        return loss.item()

    def g_step(self, n):
        self.og.zero_grad()
        fake = self.g(torch.randn(n, Z))
        loss = -self.d(fake).mean()
        loss.backward()
        self.og.step()
        return loss.item()

    def fit(self, steps):
        for s in range(steps):
            for _ in range(2):
                ld = self.d_step(real_batch(32))
            lg = self.g_step(32)
            if s % 10 == 0:
                print(s, f"{ld:.3f} {lg:.3f}")




trainer = GANTrainer()
trainer.fit(25)
