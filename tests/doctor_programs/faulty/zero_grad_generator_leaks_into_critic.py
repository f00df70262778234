# expect: missing-zero-grad line 27, 28
# opt_d is cleared right after its step; the generator's backward then refills it for the next one.

import torch
import torch.nn as nn

torch.manual_seed(6)


class GAN:
    def __init__(self, noise=3, data=2):
        self.noise = noise
        self.g = nn.Sequential(nn.Linear(noise, 24), nn.ReLU(), nn.Linear(24, data))
        self.d = nn.Sequential(nn.Linear(data, 24), nn.LeakyReLU(0.1), nn.Linear(24, 1))
        self.opt_g = torch.optim.RMSprop(self.g.parameters(), lr=1e-3)
        self.opt_d = torch.optim.RMSprop(self.d.parameters(), lr=1e-3)
        self.loss = nn.BCEWithLogitsLoss()

    def sample(self, n):
        return self.g(torch.randn(n, self.noise))

    def update_d(self, real):
        fake = self.sample(len(real)).detach()
        score_real, score_fake = self.d(real), self.d(fake)
        loss = self.loss(score_real, torch.ones_like(score_real))
        loss = loss + self.loss(score_fake, torch.zeros_like(score_fake))
        loss.backward()
        self.opt_d.step()
        self.opt_d.zero_grad()
        return loss.item()

    def update_g(self, n):
        score = self.d(self.sample(n))
        loss = self.loss(score, torch.ones_like(score))
        loss.backward()
        self.opt_g.step()
        self.opt_g.zero_grad()
        return loss.item()


gan = GAN()
for it in range(25):
    real = torch.randn(48, 2) * torch.tensor([0.5, 1.5]) + torch.tensor([2.0, -1.0])
    ld = gan.update_d(real)
    lg = gan.update_g(48)
    if it % 8 == 0:
        print(f"[{it}] D {ld:.3f} G {lg:.3f}")
