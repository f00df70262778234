# expect: nothing

import torch

torch.manual_seed(0)
x = torch.linspace(-1, 1, 60).unsqueeze(1)
y = 3 * x**2 - x + 0.5
w = torch.randn(3, 1, requires_grad=True)
phi = torch.cat([x**2, x, torch.ones_like(x)], 1)
for i in range(100):
    loss = (phi @ w - y).pow(2).mean()
    loss.backward()
    with torch.no_grad():
        w -= 0.3 * w.grad
        w.grad.zero_()
print(w.flatten().tolist(), loss.item())
