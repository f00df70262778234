# expect: missing-zero-grad line 16, 21
# The LBFGS-style closure of a homework does not clear, with SGD.

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(5, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.02)
X = torch.randn(50, 5)
Y = X @ torch.randn(5, 1)


def closure():
    loss = nn.functional.mse_loss(model(X), Y)
    loss.backward()
    return loss


for it in range(20):
    print(opt.step(closure).item())
