# expect: nothing
# The discriminator's real and fake losses are back-propagated separately and add up.

import torch
from torch import nn

torch.manual_seed(400)
netG = nn.Sequential(nn.Linear(4, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 2))
netD = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1), nn.Sigmoid())
criterion = nn.BCELoss()
optimizerD = torch.optim.Adam(netD.parameters(), lr=1e-3, betas=(0.5, 0.999))
optimizerG = torch.optim.Adam(netG.parameters(), lr=2e-3, betas=(0.5, 0.999))
fixed_noise = torch.randn(200, 4)
center = torch.tensor([1.5, -1.5])


def distance():
    netG.eval()
    with torch.no_grad():
        result = (netG(fixed_noise).mean(0) - center).norm().item()
    netG.train()
    return result


first = distance()
for _ in range(120):
    netD.zero_grad()
    real = center + 0.4 * torch.randn(32, 2)
    label = torch.full((32, 1), 0.9)
    errD_real = criterion(netD(real), label)
    errD_real.backward()
    fake = netG(torch.randn(32, 4))
    label.fill_(0.0)
    errD_fake = criterion(netD(fake.detach()), label)
    errD_fake.backward()
    optimizerD.step()

    netG.zero_grad()
    label.fill_(0.9)
    errG = criterion(netD(fake), label)
    errG.backward()
    optimizerG.step()
print("distance", first, distance())
