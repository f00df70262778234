# expect: missing-requires-grad line 16
# The interpolated points of the gradient penalty do not require grad, autograd.grad refuses.

import torch
from torch import nn

torch.manual_seed(45)
critic = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
generator = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 2))
opt_c = torch.optim.Adam(critic.parameters(), lr=1e-3)
opt_g = torch.optim.Adam(generator.parameters(), lr=1e-3)


def gradient_penalty(real, fake):
    mix = torch.rand(real.size(0), 1)
    points = mix * real + (1 - mix) * fake
    score = critic(points)
    (grad,) = torch.autograd.grad(score.sum(), points, create_graph=True)
    return ((grad.norm(2, dim=1) - 1) ** 2).mean()


for it in range(20):
    real = torch.randn(40, 2) + 2.0
    fake = generator(torch.randn(40, 3)).detach()
    loss_c = critic(fake).mean() - critic(real).mean() + 10 * gradient_penalty(real, fake)
    opt_c.zero_grad()
    loss_c.backward()
    opt_c.step()

    loss_g = -critic(generator(torch.randn(40, 3))).mean()
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
    print(it, loss_c.item(), loss_g.item())
