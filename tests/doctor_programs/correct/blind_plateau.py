# expect: nothing
# ReduceLROnPlateau on the validation loss, best weights kept as a deep copy.

import copy
import torch
from torch import nn

torch.manual_seed(0)
x, v = torch.randn(64, 4), torch.randn(32, 4)


def f(t):
    return t[:, :1] * t[:, 1:2]


net = nn.Sequential(nn.Linear(4, 24), nn.Tanh(), nn.Linear(24, 1))
opt = torch.optim.Adam(net.parameters(), 1e-2)
sch = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=2, factor=0.5)
best, keep = 1e9, None
for ep in range(20):
    net.train()
    opt.zero_grad()
    nn.functional.mse_loss(net(x), f(x)).backward()
    opt.step()
    net.eval()
    with torch.no_grad():
        val = nn.functional.mse_loss(net(v), f(v)).item()
    sch.step(val)
    if val < best:
        best, keep = val, copy.deepcopy(net.state_dict())
net.load_state_dict(keep)
print(best)
