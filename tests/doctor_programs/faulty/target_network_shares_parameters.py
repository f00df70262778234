# expect: aliased-buffer line 14
# The target network's parameters are assigned from the online network.

import clew as torch
from clew import nn


def make():
    return nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 2))


def sync(online, target):
    for p, q in zip(online.parameters(), target.parameters()):
        q.data = p.data


torch.manual_seed(0)
online, target = make(), make()
sync(online, target)
opt = torch.optim.Adam(online.parameters(), lr=1e-3)
for it in range(30):
    s, s2 = torch.randn(32, 4), torch.randn(32, 4)
    a = torch.randint(0, 2, (32, 1))
    with torch.no_grad():
        y = s[:, :1] + 0.9 * target(s2).max(1, keepdim=True).values
    loss = nn.functional.mse_loss(online(s).gather(1, a), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 10 == 9:
        sync(online, target)
print(loss.item())
