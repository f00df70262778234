# expect: nothing
# Training stops by an exception of the script's own that it catches itself.

import torch
from torch import nn


class Converged(Exception):
    pass


def train(model, x, y, tolerance):
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
    losses = []
    try:
        for _ in range(500):
            loss = nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            if losses[-1] < tolerance:
                raise Converged
    except Converged:
        print("converged after", len(losses))
    return losses


torch.manual_seed(1019)
x = torch.rand(80, 2)
losses = train(
    nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 1)), x, x.prod(1, keepdim=True), 5e-3
)
print(losses[0], losses[-1])
