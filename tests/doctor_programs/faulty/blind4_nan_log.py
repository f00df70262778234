# expect: nan-origin line 14

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3))
opt = torch.optim.SGD(net.parameters(), lr=0.5)
X = torch.randn(64, 4) * 20
y = torch.randint(0, 3, (64,))
onehot = torch.eye(3)[y]
for i in range(40):
    p = torch.softmax(net(X), dim=1)
    logp = torch.log(p)
    loss = -(onehot * logp).sum(1).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(i, loss.item())
