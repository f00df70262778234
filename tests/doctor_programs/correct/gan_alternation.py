# expect: nothing
# A plain GAN: fakes are detached for D, D's gradients from G's loss are cleared before D's step.

import torch
from torch import nn

torch.manual_seed(205)
generator = nn.Sequential(nn.Linear(4, 32), nn.LeakyReLU(0.2), nn.Linear(32, 2))
discriminator = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
opt_g = torch.optim.Adam(generator.parameters(), lr=2e-3, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(discriminator.parameters(), lr=1e-3, betas=(0.5, 0.999))
bce = nn.BCEWithLogitsLoss()
center = torch.tensor([2.0, -1.0])
ones, zeros = torch.ones(64, 1), torch.zeros(64, 1)


def distance():
    with torch.no_grad():
        return (generator(torch.randn(256, 4)).mean(0) - center).norm().item()


first = distance()
for step in range(150):
    real = center + 0.3 * torch.randn(64, 2)
    fake = generator(torch.randn(64, 4))

    opt_d.zero_grad()
    loss_d = bce(discriminator(real), ones) + bce(discriminator(fake.detach()), zeros)
    loss_d.backward()
    opt_d.step()

    opt_g.zero_grad()
    loss_g = bce(discriminator(fake), ones)
    loss_g.backward()
    opt_g.step()
    if step % 50 == 0:
        print(step, loss_d.item(), loss_g.item())
print("distance to the data's centre", first, distance())
