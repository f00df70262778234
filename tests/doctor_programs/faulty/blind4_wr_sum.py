# expect: wrong-reduction line 9, 15

import clew as torch
import clew.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
criterion = nn.MSELoss(reduction="sum")
X = torch.randn(512, 10)
y = X @ torch.randn(10, 1)
for ep in range(6):
    for xb, yb in zip(X.split(64), y.split(64)):
        opt.zero_grad()
        loss = criterion(net(xb), yb)
        loss.backward()
        opt.step()
    print(ep, loss.item() / 64)
