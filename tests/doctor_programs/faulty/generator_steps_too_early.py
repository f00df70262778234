# expect: step-before-backward line 28
# opt_g.step() precedes loss_g.backward(); zero_grad has just emptied the gradients.

import torch
from torch import nn


class GAN:
    def __init__(self):
        torch.manual_seed(603)
        self.g = nn.Sequential(nn.Linear(3, 20), nn.ReLU(), nn.Linear(20, 2))
        self.d = nn.Sequential(nn.Linear(2, 20), nn.LeakyReLU(0.2), nn.Linear(20, 1))
        self.opt_g = torch.optim.Adam(self.g.parameters(), lr=1e-3)
        self.opt_d = torch.optim.Adam(self.d.parameters(), lr=1e-3)
        self.bce = nn.BCEWithLogitsLoss()

    def step_d(self, real, fake):
        self.opt_d.zero_grad()
        loss = self.bce(self.d(real), torch.ones(len(real), 1))
        loss = loss + self.bce(self.d(fake.detach()), torch.zeros(len(fake), 1))
        loss.backward()
        self.opt_d.step()
        return loss.item()

    def step_g(self, fake):
        self.opt_g.zero_grad()
        loss = self.bce(self.d(fake), torch.ones(len(fake), 1))
        self.opt_g.step()
        loss.backward()
        return loss.item()


gan = GAN()
for it in range(20):
    real = torch.randn(32, 2) + 1.0
    fake = gan.g(torch.randn(32, 3))
    d_loss = gan.step_d(real, fake)
    g_loss = gan.step_g(fake)
    if it % 5 == 0:
        print(it, d_loss, g_loss)
