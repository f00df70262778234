# expect: step-before-backward line 18
# step() is called before backward() of the iteration and the gradients are cleared at its start.

import torch
import torch.nn as nn

torch.manual_seed(10)
x = torch.randn(64, 5)
y = (x.prod(dim=1) > 0).float().unsqueeze(1)

net = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
criterion = nn.BCEWithLogitsLoss()

for i in range(25):
    opt.zero_grad()
    loss = criterion(net(x), y)
    opt.step()
    loss.backward()
    if i % 5 == 0:
        print(i, loss.item())
