# expect: nothing
# WGAN-GP: several critic steps per generator step, gradient penalty with create_graph.

import torch
from torch import nn

torch.manual_seed(206)
critic = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 1))
generator = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 2))
opt_c = torch.optim.Adam(critic.parameters(), lr=5e-3, betas=(0.5, 0.9))
opt_g = torch.optim.Adam(generator.parameters(), lr=4e-3, betas=(0.5, 0.9))
center = torch.tensor([1.5, 1.5])


def penalty(real, fake):
    mix = torch.rand(real.size(0), 1)
    points = (mix * real + (1 - mix) * fake).requires_grad_(True)
    score = critic(points)
    grad = torch.autograd.grad(score, points, torch.ones_like(score), create_graph=True)[0]
    return ((grad.norm(2, dim=1) - 1) ** 2).mean()


def gap():
    with torch.no_grad():
        return (generator(torch.randn(256, 3)).mean(0) - center).norm().item()


first = gap()
for _ in range(70):
    for _ in range(3):
        real = center + 0.2 * torch.randn(48, 2)
        fake = generator(torch.randn(48, 3)).detach()
        loss_c = critic(fake).mean() - critic(real).mean() + 10.0 * penalty(real, fake)
        opt_c.zero_grad()
        loss_c.backward()
        opt_c.step()
    loss_g = -critic(generator(torch.randn(48, 3))).mean()
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
print("gap", first, gap())
