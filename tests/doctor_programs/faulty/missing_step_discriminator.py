# expect: missing-step line 11, 26
# Both halves of the GAN loop step the generator's optimizer, the discriminator never moves.

import torch
from torch import nn

torch.manual_seed(13)
G = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1))
D = nn.Sequential(nn.Linear(1, 16), nn.ReLU(), nn.Linear(16, 1))
g_optimizer = torch.optim.Adam(G.parameters(), lr=1e-3)
d_optimizer = torch.optim.Adam(D.parameters(), lr=1e-3)
criterion = nn.BCEWithLogitsLoss()


def d_loss_on(real, fake):
    real_loss = criterion(D(real), torch.ones(len(real), 1))
    fake_loss = criterion(D(fake), torch.zeros(len(fake), 1))
    return real_loss + fake_loss


for epoch in range(30):
    real = 3.0 + 0.5 * torch.randn(32, 1)

    d_optimizer.zero_grad()
    d_loss = d_loss_on(real, G(torch.randn(32, 2)).detach())
    d_loss.backward()
    g_optimizer.step()

    g_optimizer.zero_grad()
    g_loss = criterion(D(G(torch.randn(32, 2))), torch.ones(32, 1))
    g_loss.backward()
    g_optimizer.step()
    if epoch % 10 == 0:
        print(epoch, d_loss.item(), g_loss.item())
