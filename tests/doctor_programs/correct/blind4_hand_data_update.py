# expect: nothing

import torch

torch.manual_seed(0)
X = torch.randn(80, 2)
y = (X[:, 0] > X[:, 1]).float()
w = torch.randn(2, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
for ep in range(100):
    p = torch.sigmoid(X @ w + b)
    loss = torch.nn.functional.binary_cross_entropy(p, y)
    loss.backward()
    w.data -= 0.5 * w.grad.data
    b.data -= 0.5 * b.grad.data
    w.grad = None
    b.grad = None
print(loss.item())
