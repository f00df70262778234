# expect: nothing
# Two critics with their own initial weights and one optimizer.

import torch
from torch import nn


def critic():
    return nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 1))


torch.manual_seed(0)
q1, q2, t1, t2 = critic(), critic(), critic(), critic()
t1.load_state_dict(q1.state_dict())
t2.load_state_dict(q2.state_dict())
opt = torch.optim.Adam([*q1.parameters(), *q2.parameters()], lr=1e-3)
for i in range(25):
    s, s2 = torch.randn(32, 4), torch.randn(32, 4)
    with torch.no_grad():
        y = s[:, :1] + 0.9 * torch.min(t1(s2), t2(s2))
    loss = nn.functional.mse_loss(q1(s), y) + nn.functional.mse_loss(q2(s), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for a, b in ((q1, t1), (q2, t2)):
            for p, t in zip(a.parameters(), b.parameters()):
                t.mul_(0.99).add_(p, alpha=0.01)
print(loss.item())
