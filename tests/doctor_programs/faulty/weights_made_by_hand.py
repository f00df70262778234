# expect: missing-requires-grad line 10
# Hand-written logistic regression; the bias was never asked for a gradient.

import torch

torch.manual_seed(0)
X = torch.randn(100, 3)
t = (X @ torch.tensor([1.0, -2.0, 0.5]) + 0.3 > 0).float()
w = torch.zeros(3, requires_grad=True)
b = torch.zeros(1)
lr = 0.5
for it in range(50):
    p = torch.sigmoid(X @ w + b)
    nll = torch.nn.functional.binary_cross_entropy(p, t)
    nll.backward()
    with torch.no_grad():
        for param in (w, b):
            if param.grad is not None:
                param -= lr * param.grad
                param.grad.zero_()
print(nll.item(), b)
