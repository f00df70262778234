# expect: missing-zero-grad line 25, 28, 29
# The discriminator step clears the generator's optimizer; its own gradients pile up.

import torch
from torch import nn

torch.manual_seed(2)
latent_dim = 4


def real_batch(n):
    angle = torch.rand(n) * 6.2832
    return torch.stack([angle.cos(), angle.sin()], dim=1) + 0.05 * torch.randn(n, 2)


generator = nn.Sequential(nn.Linear(latent_dim, 32), nn.LeakyReLU(0.2), nn.Linear(32, 2))
discriminator = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
opt_g = torch.optim.Adam(generator.parameters(), lr=2e-3, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(discriminator.parameters(), lr=2e-3, betas=(0.5, 0.999))
bce = nn.BCEWithLogitsLoss()
ones, zeros = torch.ones(64, 1), torch.zeros(64, 1)

for step in range(30):
    # discriminator
    opt_g.zero_grad()
    fake = generator(torch.randn(64, latent_dim))
    loss_d = bce(discriminator(real_batch(64)), ones) + bce(discriminator(fake.detach()), zeros)
    loss_d.backward()
    opt_d.step()

    # generator
    opt_g.zero_grad()
    loss_g = bce(discriminator(fake), ones)
    loss_g.backward()
    opt_g.step()
    if step % 10 == 0:
        print(step, round(loss_d.item(), 4), round(loss_g.item(), 4))
