# expect: param-not-in-optimizer or param-unused line 10, 11, 12
# Training calls the averaged copy, the optimizer holds the parameters of the original.

import copy

import torch
from torch import nn

torch.manual_seed(606)
model = nn.Sequential(nn.Linear(5, 24), nn.ReLU(), nn.Linear(24, 1))
average = copy.deepcopy(model)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
x = torch.randn(80, 5)
y = x[:, :1].abs()


@torch.no_grad()
def update_average(decay=0.9):
    for a, p in zip(average.parameters(), model.parameters()):
        a.mul_(decay).add_(p, alpha=1 - decay)


for epoch in range(10):
    optimizer.zero_grad()
    average.zero_grad()
    loss = nn.functional.mse_loss(average(x), y)
    loss.backward()
    optimizer.step()
    update_average()
    if epoch % 3 == 0:
        print(epoch, loss.item())
