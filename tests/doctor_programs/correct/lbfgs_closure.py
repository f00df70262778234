# expect: nothing
# LBFGS with a closure that clears, evaluates and back-propagates.

import torch
from torch import nn

torch.manual_seed(232)
x = torch.linspace(-1, 1, 60).unsqueeze(1)
y = torch.sin(3 * x)
model = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=8, line_search_fn="strong_wolfe")


def closure():
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    return loss


losses = [optimizer.step(closure).item() for _ in range(6)]
print("loss", losses[0], losses[-1])
