# expect: scheduler-misuse line 10, 11, 12, 24

import torch
from torch import nn

torch.manual_seed(0)
g, d = nn.Linear(4, 4), nn.Linear(4, 1)
og = torch.optim.Adam(g.parameters(), lr=1e-3)
od = torch.optim.Adam(d.parameters(), lr=1e-3)
sched = torch.optim.lr_scheduler.StepLR(
    torch.optim.Adam(g.parameters(), lr=1e-3), step_size=5, gamma=0.5
)
for ep in range(12):
    for _ in range(5):
        z = torch.randn(16, 4)
        ld = d(g(z).detach()).pow(2).mean()
        od.zero_grad()
        ld.backward()
        od.step()
        lg = -d(g(z)).mean()
        og.zero_grad()
        lg.backward()
        og.step()
    sched.step()
