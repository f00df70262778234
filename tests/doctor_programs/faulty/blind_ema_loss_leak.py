# expect: graph-leak line 18
# The exponential moving average of the loss is a tensor with an ever growing graph.

import torch
from torch import nn

torch.manual_seed(7)
model = nn.Linear(10, 1)
opt = torch.optim.SGD(model.parameters(), lr=1e-2)
w = torch.randn(10, 1)
smooth = None
for step in range(50):
    x = torch.randn(16, 10)
    loss = ((model(x) - x @ w) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    smooth = loss if smooth is None else 0.9 * smooth + 0.1 * loss
print(f"{smooth.item():.4f}")
