# expect: nothing
# An unrolled Euler integration with a trajectory list that is back-propagated as a whole.

import clew as torch
from clew import nn

torch.manual_seed(0)
f = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
opt = torch.optim.Adam(f.parameters(), 1e-2)
ts = torch.arange(1, 11) * 0.2
true = torch.stack([torch.cos(ts), torch.sin(ts)], 1)
for _ in range(25):
    y = torch.tensor([1.0, 0.0])
    traj = []
    for _t in ts:
        y = y + 0.2 * f(y)
        traj.append(y)
    l = (torch.stack(traj) - true).pow(2).mean()
    opt.zero_grad()
    l.backward()
    opt.step()
print(l.item())
