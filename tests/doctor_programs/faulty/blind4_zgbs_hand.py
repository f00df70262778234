# expect: zero-grad-before-step line 12

import torch

torch.manual_seed(0)
X = torch.randn(64, 3)
y = X.sum(1)
w = torch.zeros(3, requires_grad=True)
for i in range(50):
    loss = ((X @ w - y) ** 2).mean()
    loss.backward()
    w.grad.zero_()
    with torch.no_grad():
        w -= 0.1 * w.grad
print(loss.item())
