# expect: retain-graph-misuse line 14

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
X = torch.randn(128, 5)
y = torch.tanh(X.sum(1, keepdim=True))
for epoch in range(60):
    opt.zero_grad()
    loss = nn.functional.mse_loss(net(X), y)
    loss.backward(retain_graph=True)
    opt.step()
    if epoch % 20 == 0:
        print(loss.item())
