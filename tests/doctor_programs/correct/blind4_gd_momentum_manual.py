# expect: nothing

import torch

torch.manual_seed(0)
X = torch.randn(128, 6)
y = (X[:, :1] > 0).float()
params = [
    (torch.randn(6, 16) * 0.3).requires_grad_(),
    torch.zeros(16, requires_grad=True),
    (torch.randn(16, 1) * 0.3).requires_grad_(),
]
vel = [torch.zeros_like(p) for p in params]
for i in range(120):
    W1, b1, W2 = params
    out = torch.relu(X @ W1 + b1) @ W2
    loss = torch.nn.functional.binary_cross_entropy_with_logits(out, y)
    for p in params:
        p.grad = None
    loss.backward()
    with torch.no_grad():
        for p, v in zip(params, vel):
            v.mul_(0.9).add_(p.grad)
            p.add_(v, alpha=-0.05)
print(loss.item())
