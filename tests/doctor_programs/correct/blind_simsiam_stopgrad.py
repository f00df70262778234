# expect: nothing
# SimSiam's stop-gradient: the projections are detached on purpose.

import clew as torch
import clew.nn.functional as F
from clew import nn

torch.manual_seed(0)
f = nn.Sequential(nn.Linear(6, 24), nn.BatchNorm1d(24), nn.ReLU(), nn.Linear(24, 6))
h = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 6))
opt = torch.optim.SGD(list(f.parameters()) + list(h.parameters()), lr=0.05, momentum=0.9)


def D(p, z):
    return -F.cosine_similarity(p, z.detach(), dim=1).mean()


for _ in range(15):
    x = torch.randn(32, 6)
    z1, z2 = f(x + 0.05 * torch.randn(32, 6)), f(x + 0.05 * torch.randn(32, 6))
    loss = 0.5 * D(h(z1), z2) + 0.5 * D(h(z2), z1)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
