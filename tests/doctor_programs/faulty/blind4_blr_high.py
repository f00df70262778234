# expect: bad-learning-rate line 10

import torch
from torch import nn

torch.manual_seed(0)
X = torch.randn(200, 10)
y = X @ torch.randn(10, 1)
model = nn.Linear(10, 1)
opt = torch.optim.SGD(model.parameters(), lr=2.5)
for i in range(40):
    loss = nn.functional.mse_loss(model(X), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(i, loss.item())
