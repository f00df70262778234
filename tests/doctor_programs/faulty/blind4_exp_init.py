# expect: exploding-gradient line 9, 27

import torch
from torch import nn


def init(m):
    if isinstance(m, nn.Linear):
        nn.init.normal_(m.weight, 0.0, 1.0)
        nn.init.zeros_(m.bias)


torch.manual_seed(0)
net = nn.Sequential(
    nn.Linear(16, 64),
    nn.ReLU(),
    nn.Linear(64, 64),
    nn.ReLU(),
    nn.Linear(64, 64),
    nn.ReLU(),
    nn.Linear(64, 64),
    nn.ReLU(),
    nn.Linear(64, 64),
    nn.ReLU(),
    nn.Linear(64, 1),
)
net.apply(init)
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
X = torch.randn(256, 16)
y = X[:, :1]
for s in range(50):
    loss = nn.functional.mse_loss(net(X), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if s % 10 == 0:
        print(s, loss.item())
