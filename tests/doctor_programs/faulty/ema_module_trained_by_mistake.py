# expect: param-not-in-optimizer line 11, 12
# The loss uses the averaged copy; the optimizer holds the live model.

import copy

import clew as torch
from clew import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
average = copy.deepcopy(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(30):
    x = torch.randn(16, 5)
    loss = nn.functional.mse_loss(average(x), x[:, :1])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
