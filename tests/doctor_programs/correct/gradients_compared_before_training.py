# expect: nothing
# Two models are only asked for their gradients, in parts; then a third one is trained.

import torch
from torch import nn


def network():
    torch.manual_seed(12)
    return nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))


def gradient(model, parts):
    for part, answers in zip(x.chunk(parts), y.chunk(parts)):
        (nn.functional.mse_loss(model(part), answers) / parts).backward()
    return torch.cat([p.grad.flatten() for p in model.parameters()])


torch.manual_seed(13)
x = torch.randn(64, 6)
y = x[:, :1] * x[:, 1:2]
print((gradient(network(), 8) - gradient(network(), 16)).norm().item())
model = network()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for _ in range(30):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
print(loss.item())
