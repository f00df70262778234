# expect: nothing

import torch

torch.manual_seed(0)
X = torch.randn(64, 3)
y = X @ torch.tensor([1.0, 2.0, 0.5])
w = torch.tensor([1.0, 2.0, 0.5], requires_grad=True)
for i in range(40):
    loss = ((X @ w - y - 0.01 * torch.randn(64)) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        w -= 1e-3 * w.grad
        w.grad = None
