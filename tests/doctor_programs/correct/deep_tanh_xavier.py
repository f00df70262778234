# expect: nothing
# Eight tanh layers with Xavier initialisation: gradients keep their size.

import torch
from torch import nn

torch.manual_seed(284)
layers = []
for i in range(8):
    layers += [nn.Linear(6 if i == 0 else 32, 32), nn.Tanh()]
model = nn.Sequential(*layers, nn.Linear(32, 1))
for module in model:
    if isinstance(module, nn.Linear):
        nn.init.xavier_uniform_(module.weight, gain=5 / 3)
        nn.init.zeros_(module.bias)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
x = torch.randn(128, 6)
y = torch.sin(x[:, :1] + x[:, 1:2])
losses = []
for _ in range(40):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
