# expect: nan-origin line 14

import clew as torch
from clew import nn


class Siamese(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4))

    def forward(self, a, b):
        d = self.f(a) - self.f(b)
        return torch.sqrt((d * d).sum(1))


def contrastive(dist, same, margin=1.0):
    return (same * dist**2 + (1 - same) * torch.clamp(margin - dist, min=0) ** 2).mean()


torch.manual_seed(0)
net = Siamese()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
pool = torch.randn(10, 6)
for it in range(40):
    i, j = torch.randint(0, 10, (32,)), torch.randint(0, 10, (32,))
    same = (i == j).float()
    loss = contrastive(net(pool[i], pool[j]), same)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 5 == 0:
        print(it, loss.item())
