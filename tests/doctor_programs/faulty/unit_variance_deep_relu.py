# expect: exploding-gradient line 19
# Unit-variance weights in an eight-layer ReLU network multiply the signal layer by layer.

import torch
from torch import nn


def build(depth=8, width=64):
    layers = [nn.Linear(10, width), nn.ReLU()]
    for _ in range(depth - 2):
        layers += [nn.Linear(width, width), nn.ReLU()]
    layers.append(nn.Linear(width, 1))
    return nn.Sequential(*layers)


def reset(model):
    for module in model.modules():
        if isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, mean=0.0, std=1.0)
            nn.init.zeros_(module.bias)


torch.manual_seed(101)
model = build()
reset(model)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
x = torch.randn(64, 10)
y = x[:, :1] * x[:, 1:2]
for step in range(10):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 3 == 0:
        print(step, loss.item())
