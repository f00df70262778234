# expect: aliased-buffer line 14
# The target network is the online network under another name.

import torch
from torch import nn

torch.manual_seed(0)
q = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 2))
q_target = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 2))
opt = torch.optim.Adam(q.parameters(), 1e-3)
for t in range(40):
    if t % 10 == 0:
        for p, pt in zip(q.parameters(), q_target.parameters()):
            pt.data = p.data
    s, s2, r = torch.randn(16, 3), torch.randn(16, 3), torch.randn(16)
    a = torch.randint(0, 2, (16, 1))
    with torch.no_grad():
        y = r + 0.9 * q_target(s2).max(1)[0]
    loss = nn.functional.mse_loss(q(s).gather(1, a).squeeze(1), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
