# expect: missing-zero-grad line 18, 23
# The LBFGS closure does not clear the gradients before each evaluation.

import torch
from torch import nn

torch.manual_seed(184)
x = torch.linspace(-1, 1, 50).unsqueeze(1)
y = 0.5 * x**3 - x + 0.1
features = torch.cat([x, x**2, x**3], dim=1)
model = nn.Linear(3, 1)
optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=5)


def closure():
    prediction = model(features)
    loss = nn.functional.mse_loss(prediction, y)
    loss.backward()
    return loss


for epoch in range(6):
    loss = optimizer.step(closure)
    print(f"epoch {epoch} loss {loss.item():.6f}")
