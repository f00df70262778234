# expect: graph-leak line 21

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(90, 8)
y = x[:, :3].argmax(1)
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))


def run(epochs):
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    total = 0
    for i in range(epochs):
        loss = F.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss
    return total / epochs


print(run(40))
