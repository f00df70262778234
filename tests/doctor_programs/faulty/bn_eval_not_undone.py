# expect: train-eval-mode line 16

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(90, 8)
y = x[:, :3].argmax(1)

net = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 3))
opt = torch.optim.Adam(net.parameters(), lr=0.01)


def validate():
    net.eval()
    with torch.no_grad():
        return F.cross_entropy(net(x[60:]), y[60:]).item()


net.train()
for epoch in range(6):
    for i in range(3):
        loss = F.cross_entropy(net(x[i * 20 : (i + 1) * 20]), y[i * 20 : (i + 1) * 20])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(validate())
