# expect: target-not-detached line 15, 16

import torch
from torch import nn

torch.manual_seed(0)
q = nn.Linear(6, 1)
pi = nn.Linear(4, 2)
log_alpha = torch.zeros(1, requires_grad=True)
qo = torch.optim.Adam(q.parameters(), lr=1e-3)
for i in range(40):
    s, a, r, s2 = torch.randn(32, 4), torch.randn(32, 2), torch.randn(32, 1), torch.randn(32, 4)
    with torch.no_grad():
        a2 = torch.tanh(pi(s2))
    backup = r + 0.99 * q(torch.cat([s2, a2], 1))
    lq = (q(torch.cat([s, a], 1)) - backup).square().mean()
    qo.zero_grad()
    lq.backward()
    qo.step()
