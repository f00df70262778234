# expect: scheduler-misuse line 9, 19

import clew as torch
import clew.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
sched = torch.optim.lr_scheduler.StepLR(opt, step_size=2, gamma=0.5)
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for ep in range(6):
    for _ in range(5):
        x = torch.randn(32, 8)
        y = (x[:, 0] > 0).long()
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    sched.step()
    print(ep, loss.item())
