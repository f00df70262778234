# expect: train-eval-mode line 17

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(90, 8)
y = x[:, :3].argmax(1)

net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 3))
opt = torch.optim.Adam(net.parameters(), lr=0.01)


def accuracy(inputs, labels):
    with torch.no_grad():
        logits = net(inputs)
    return (logits.argmax(1) == labels).float().mean().item()


for epoch in range(10):
    loss = F.cross_entropy(net(x[:60]), y[:60])
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(accuracy(x[60:], y[60:]))
