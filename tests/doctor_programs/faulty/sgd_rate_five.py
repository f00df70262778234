# expect: bad-learning-rate line 11
# Linear regression diverges.

import torch
import torch.nn.functional as F

torch.manual_seed(0)
w = torch.zeros(5, 1, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
true_w = torch.randn(5, 1)
optimizer = torch.optim.SGD([w, b], lr=5.0)
for i in range(25):
    x = torch.randn(64, 5)
    loss = F.mse_loss(x @ w + b, x @ true_w + 0.5)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(i, loss.item())
