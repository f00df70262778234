# expect: missing-zero-grad line 16, 18, 19

import clew as torch

torch.manual_seed(1)
X = torch.randn(64, 5)
w_true = torch.tensor([1.0, -2.0, 0.5, 3.0, 0.0])
y = X @ w_true + 0.7 + 0.1 * torch.randn(64)

w = torch.zeros(5, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
lr = 0.02
for i in range(80):
    pred = X @ w + b
    loss = ((pred - y) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        w -= lr * w.grad
        b -= lr * b.grad
        w.grad.zero_()
    if i % 20 == 0:
        print(i, loss.item())
