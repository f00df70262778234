# expect: missing-zero-grad line 44, 45, 48
import torch
from torch import nn, autograd

torch.manual_seed(9)


class Generator(nn.Module):
    def __init__(self, z=6):
        super().__init__()
        self.z = z
        self.net = nn.Sequential(nn.Linear(z, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2))

    def forward(self, n):
        return self.net(torch.randn(n, self.z))


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))

    def forward(self, x):
        return self.net(x)


def gradient_penalty(critic, real, fake):
    eps = torch.rand(real.size(0), 1)
    mix = (eps * real + (1 - eps) * fake).requires_grad_(True)
    score = critic(mix)
    grads = autograd.grad(score, mix, grad_outputs=torch.ones_like(score), create_graph=True)[0]
    return ((grads.norm(2, dim=1) - 1) ** 2).mean()


G, D = Generator(), Critic()
opt_g = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.0, 0.9))
opt_d = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.0, 0.9))
data = torch.randn(512, 2) * 0.3 + torch.tensor([1.0, -1.0])
for it in range(15):
    for _ in range(3):
        real = data[torch.randint(0, 512, (32,))]
        fake = G(32).detach()
        loss_d = D(fake).mean() - D(real).mean() + 10.0 * gradient_penalty(D, real, fake)
        loss_d.backward()
        opt_d.step()
    loss_g = -D(G(32)).mean()
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
print(loss_d.item(), loss_g.item())
