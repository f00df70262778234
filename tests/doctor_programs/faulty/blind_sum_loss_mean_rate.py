# expect: wrong-reduction line 10, 16
# A summed loss over a batch of 128 with the rate of the paper for a mean, then it wanders.

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.01)
crit = nn.MSELoss(reduction="sum")
X = torch.randn(512, 8)
Y = X.pow(2).sum(1, keepdim=True)
for epoch in range(4):
    for x, y in zip(X.split(128), Y.split(128)):
        opt.zero_grad()
        loss = crit(net(x), y)
        loss.backward()
        opt.step()
    print(loss.item())
