# expect: nothing
# Two optimizers hold the same parameters, one after the other.

import torch
from torch import nn

torch.manual_seed(415)
net = nn.Sequential(nn.Linear(1, 20), nn.Tanh(), nn.Linear(20, 1))
x = torch.linspace(-2, 2, 50).unsqueeze(1)
y = torch.exp(-(x**2))
adam = torch.optim.Adam(net.parameters(), lr=1e-2)
losses = []
for _ in range(60):
    adam.zero_grad()
    loss = nn.functional.mse_loss(net(x), y)
    loss.backward()
    adam.step()
    losses.append(loss.item())

lbfgs = torch.optim.LBFGS(net.parameters(), max_iter=10, line_search_fn="strong_wolfe")


def closure():
    lbfgs.zero_grad()
    value = nn.functional.mse_loss(net(x), y)
    value.backward()
    return value


for _ in range(3):
    losses.append(lbfgs.step(closure).item())
print(losses[0], losses[-1])
