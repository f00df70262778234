# expect: backward-twice line 14, 15, 19
# The LBFGS closure back-propagates a loss that was computed once outside it.

import torch
from torch import nn

torch.manual_seed(322)
model = nn.Sequential(nn.Linear(2, 10), nn.Tanh(), nn.Linear(10, 1))
optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=4)
x = torch.rand(40, 2)
y = x[:, :1] * x[:, 1:]

for step in range(3):
    prediction = model(x)
    loss = nn.functional.mse_loss(prediction, y)

    def closure(loss=loss):
        optimizer.zero_grad()
        loss.backward()
        return loss

    optimizer.step(closure)
    print(step, loss.item())
