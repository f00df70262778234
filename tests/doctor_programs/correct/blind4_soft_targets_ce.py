# expect: nothing

import clew as torch
import clew.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(5, 24), nn.ReLU(), nn.Linear(24, 3))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for i in range(80):
    x = torch.randn(32, 5)
    soft = torch.softmax(2 * x[:, :3], dim=1)
    loss = nn.functional.cross_entropy(net(x), soft)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 20 == 0:
        print(i, loss.item())
