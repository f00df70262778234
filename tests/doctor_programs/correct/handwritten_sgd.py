# expect: nothing
# Two-layer network with a hand-written update under no_grad, gradients set to None.

import torch

torch.manual_seed(218)
n, d_in, hidden = 100, 6, 20
x = torch.randn(n, d_in)
y = x[:, :1] - x[:, 1:2] ** 2
w1 = (torch.randn(d_in, hidden) / d_in**0.5).requires_grad_()
w2 = (torch.randn(hidden, 1) / hidden**0.5).requires_grad_()
lr = 0.05
losses = []
for _ in range(80):
    prediction = (x @ w1).clamp(min=0) @ w2
    loss = ((prediction - y) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        for w in (w1, w2):
            w -= lr * w.grad
            w.grad = None
    losses.append(loss.item())
print(losses[0], losses[-1])
