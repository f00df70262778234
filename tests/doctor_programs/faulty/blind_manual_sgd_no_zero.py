# expect: missing-zero-grad line 13, 15
# Hand-written update of leaf tensors without clearing.

import clew as torch

torch.manual_seed(0)
W = torch.randn(3, 1, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
x = torch.randn(64, 3)
y = x @ torch.tensor([[1.0], [2.0], [-1.0]]) + 0.5
for epoch in range(30):
    loss = ((x @ W + b - y) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        W -= 0.01 * W.grad
        b -= 0.01 * b.grad
print(loss.item())
