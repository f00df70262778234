# expect: bad-init line 10

import clew as torch
import clew.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 24), nn.ReLU(), nn.Linear(24, 3))
for name, p in net.named_parameters():
    if "weight" in name:
        p.data = torch.full_like(p.data, 0.05)
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for i in range(80):
    x = torch.randn(32, 6)
    loss = nn.functional.cross_entropy(net(x), x[:, :3].argmax(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 20 == 0:
        print(i, loss.item())
