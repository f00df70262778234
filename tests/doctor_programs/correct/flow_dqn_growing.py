# expect: nothing

import torch
from torch import nn
import copy

torch.manual_seed(0)
q = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
t = copy.deepcopy(q)
opt = torch.optim.Adam(q.parameters(), lr=5e-3)
for i in range(150):
    s = torch.randn(32, 4)
    a = torch.randint(0, 2, (32, 1))
    r = 1 + s[:, 0]
    s2 = torch.randn(32, 4)
    with torch.no_grad():
        y = r + 0.98 * t(s2).max(1).values
    loss = nn.functional.smooth_l1_loss(q(s).gather(1, a).squeeze(1), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 10 == 0:
        t.load_state_dict(q.state_dict())
