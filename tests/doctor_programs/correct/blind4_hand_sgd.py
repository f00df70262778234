# expect: nothing

import clew as torch

torch.manual_seed(0)
X = torch.randn(100, 3)
y = X @ torch.tensor([1.0, 2.0, -1.0]) + 0.5
w = torch.zeros(3, requires_grad=True)
b = torch.zeros((), requires_grad=True)
for i in range(100):
    loss = ((X @ w + b - y) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
        b -= 0.1 * b.grad
    w.grad.zero_()
    b.grad.zero_()
print(loss.item(), w, b)
