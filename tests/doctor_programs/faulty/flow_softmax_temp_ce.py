# expect: loss-activation-mismatch line 7, 8, 9, 14

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(
    nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 4), nn.LogSoftmax(dim=1), nn.Softmax(dim=1)
)
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
lossf = nn.CrossEntropyLoss()
for i in range(25):
    x = torch.randn(32, 6)
    loss = lossf(net(x), x[:, :4].argmax(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
