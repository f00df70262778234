# expect: nothing
# The weights of the last step are loaded where they came from: nothing has changed in between.

import copy

import torch
from torch import nn

torch.manual_seed(11)
x = torch.randn(64, 5)
y = x[:, :1] - x[:, 1:2]
for width in (8, 16):
    model = nn.Sequential(nn.Linear(5, width), nn.Tanh(), nn.Linear(width, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    least, best = float("inf"), copy.deepcopy(model.state_dict())
    for step in range(200):
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if loss.item() < least and step % 10 == 0:
            least, best = loss.item(), copy.deepcopy(model.state_dict())
        if loss.item() < 0.05:
            best = model.state_dict()
            break
    model.load_state_dict(best)
    print(width, step, nn.functional.mse_loss(model(x), y).item())
