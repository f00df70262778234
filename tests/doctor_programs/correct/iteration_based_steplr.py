# expect: nothing
# Iteration-based training without epochs: StepLR counts iterations and so does the loop.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(513)
max_iter = 90
model = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=30, gamma=0.3)


def batches():
    while True:
        x = torch.randn(32, 4)
        yield x, torch.sin(x[:, :1]) + 0.5 * x[:, 1:2]


losses = []
for iteration, (x, y) in enumerate(batches()):
    if iteration == max_iter:
        break
    loss = F.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
