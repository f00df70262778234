# expect: nothing

import torch

torch.manual_seed(0)
X = torch.randn(64, 3)
y = X @ torch.tensor([1.0, 2.0, 0.5])
w = torch.rand(3, requires_grad=True)
for i in range(60):
    loss = ((X @ w - y) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
        w.grad.zero_()
        w.clamp_(min=0)
