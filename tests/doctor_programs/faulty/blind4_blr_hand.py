# expect: bad-learning-rate line 9, 14

import clew as torch

torch.manual_seed(0)
X = torch.randn(100, 4)
y = X @ torch.tensor([1.0, -1.0, 2.0, 0.5])
w = torch.zeros(4, requires_grad=True)
lr = 1.8
for i in range(25):
    loss = ((X @ w - y) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        w -= lr * w.grad
        w.grad.zero_()
    if i % 10 == 0:
        print(i, loss.item())
