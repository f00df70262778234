# expect: nothing
# The critic's weights are clamped through .data after each step, as in the first WGAN.

import torch
from torch import nn


class WGAN:
    def __init__(self):
        torch.manual_seed(207)
        self.critic = nn.Sequential(nn.Linear(1, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
        self.gen = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1))
        self.opt_c = torch.optim.RMSprop(self.critic.parameters(), lr=1e-3)
        self.opt_g = torch.optim.RMSprop(self.gen.parameters(), lr=2e-3)

    def critic_step(self, real):
        fake = self.gen(torch.randn(len(real), 2)).detach()
        loss = self.critic(fake).mean() - self.critic(real).mean()
        self.opt_c.zero_grad()
        loss.backward()
        self.opt_c.step()
        for p in self.critic.parameters():
            p.data.clamp_(-0.2, 0.2)
        return loss.item()

    def generator_step(self, n):
        loss = -self.critic(self.gen(torch.randn(n, 2))).mean()
        self.opt_g.zero_grad()
        loss.backward()
        self.opt_g.step()

    def error(self):
        with torch.no_grad():
            return (self.gen(torch.randn(400, 2)).mean() - 3.0).abs().item()


gan = WGAN()
first = gan.error()
for _ in range(80):
    for _ in range(2):
        gan.critic_step(3.0 + 0.5 * torch.randn(32, 1))
    gan.generator_step(32)
print("error of the mean", first, gan.error())
