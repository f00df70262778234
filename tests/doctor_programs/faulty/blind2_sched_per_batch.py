# expect: scheduler-misuse line 14, 21

import clew as torch
import clew.nn as nn
from clew.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
X = torch.randn(320, 8)
Y = (X[:, 0] > 0).long()
loader = DataLoader(TensorDataset(X, Y), batch_size=16, shuffle=True)
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
EPOCHS = 6
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=EPOCHS)
for epoch in range(EPOCHS):
    for x, y in loader:
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        opt.step()
        sched.step()
    print(epoch, loss.item(), sched.get_last_lr())
