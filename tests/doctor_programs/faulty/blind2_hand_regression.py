# expect: missing-requires-grad line 9

import clew as torch

torch.manual_seed(0)
x = torch.randn(100, 3)
y = x @ torch.tensor([1.0, -2.0, 0.5]) + 0.7
w = torch.zeros(3, requires_grad=True)
b = torch.zeros(1)
lr = 0.1
for i in range(50):
    loss = ((x @ w + b - y) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        w -= lr * w.grad
        if b.grad is not None:
            b -= lr * b.grad
        w.grad.zero_()
print(w, b, loss.item())
