# expect: nothing

import torch
from torch import nn

torch.manual_seed(0)
X = torch.randn(128, 20)
w = torch.zeros(20, 1)
w[:3] = 1.5
y = X @ w + 0.1 * torch.randn(128, 1)
m = nn.Linear(20, 1)
opt = torch.optim.SGD(m.parameters(), lr=0.05)
for i in range(150):
    l1 = m.weight.abs().sum()
    loss = nn.functional.mse_loss(m(X), y) + 0.02 * l1
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item(), m.weight.abs().sum().item())
