# expect: missing-zero-grad line 19, 21, 22
# The hand-written update never resets .grad, so each step adds all earlier gradients again.

import torch

torch.manual_seed(4)
n, d = 100, 3
X = torch.randn(n, d)
true_w = torch.tensor([1.5, -2.0, 0.5])
y = X @ true_w + 0.7 + 0.05 * torch.randn(n)

w = torch.zeros(d, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
lr = 0.02

for it in range(60):
    y_hat = X @ w + b
    loss = ((y_hat - y) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        w -= lr * w.grad
        b -= lr * b.grad
    if it % 10 == 0:
        print(it, loss.item(), w.detach().tolist())
