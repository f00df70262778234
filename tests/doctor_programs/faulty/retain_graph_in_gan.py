# expect: retain-graph-misuse line 21
# The discriminator's loss uses detached samples, its retain_graph=True serves nothing.

import torch
import torch.nn as nn

torch.manual_seed(79)
latent = 3
gen = nn.Sequential(nn.Linear(latent, 20), nn.ReLU(), nn.Linear(20, 2))
disc = nn.Sequential(nn.Linear(2, 20), nn.LeakyReLU(0.2), nn.Linear(20, 1))
optim_gen = torch.optim.Adam(gen.parameters(), lr=1e-3)
optim_disc = torch.optim.Adam(disc.parameters(), lr=1e-3)
criterion = nn.BCEWithLogitsLoss()


def train_discriminator(real, fake):
    optim_disc.zero_grad()
    score_real, score_fake = disc(real), disc(fake.detach())
    loss = criterion(score_real, torch.ones_like(score_real))
    loss = loss + criterion(score_fake, torch.zeros_like(score_fake))
    loss.backward(retain_graph=True)
    optim_disc.step()
    return loss.item()


def train_generator(fake):
    optim_gen.zero_grad()
    score = disc(fake)
    loss = criterion(score, torch.ones_like(score))
    loss.backward()
    optim_gen.step()
    return loss.item()


for step in range(20):
    real = torch.randn(32, 2) + torch.tensor([1.0, -1.0])
    fake = gen(torch.randn(32, latent))
    loss_d = train_discriminator(real, fake)
    loss_g = train_generator(fake)
    if step % 5 == 0:
        print(step, loss_d, loss_g)
