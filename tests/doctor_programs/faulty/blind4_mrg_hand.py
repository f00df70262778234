# expect: missing-requires-grad line 11

import clew as torch

torch.manual_seed(0)
n, d, h = 64, 4, 16
X = torch.randn(n, d)
y = torch.sin(X.sum(1, keepdim=True))
W1 = torch.randn(d, h) * 0.5
W2 = torch.randn(h, 1) * 0.3
b1 = torch.zeros(h)
W1.requires_grad_()
W2.requires_grad_()
params = [W1, b1, W2]
for epoch in range(100):
    hid = torch.tanh(X @ W1 + b1)
    loss = ((hid @ W2 - y) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        for p in params:
            if p.grad is not None:
                p -= 0.05 * p.grad
                p.grad = None
print(loss.item())
