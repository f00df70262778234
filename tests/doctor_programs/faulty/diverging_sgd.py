# expect: bad-learning-rate line 12
# A learning rate of 2 makes the regression diverge.

import torch
from torch import nn

torch.manual_seed(110)
x = torch.randn(200, 12)
y = x @ torch.randn(12, 1) + 0.5

model = nn.Sequential(nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=2.0)
loss_fn = nn.MSELoss()

for epoch in range(3):
    for i in range(0, 200, 50):
        optimizer.zero_grad()
        loss = loss_fn(model(x[i : i + 50]), y[i : i + 50])
        loss.backward()
        optimizer.step()
        print(epoch, i, loss.item())
