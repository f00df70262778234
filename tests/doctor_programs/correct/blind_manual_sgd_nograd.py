# expect: nothing
# Linear regression by hand: parameters are leaf tensors updated under no_grad.

import torch

torch.manual_seed(0)
X = torch.randn(100, 3)
y = X @ torch.tensor([1.0, -2.0, 0.5]) + 0.3
w = torch.zeros(3, requires_grad=True)
b = torch.zeros((), requires_grad=True)
for ep in range(40):
    loss = ((X @ w + b - y) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        for p in (w, b):
            p -= 0.1 * p.grad
            p.grad = None
print(w, b)
