# expect: nothing

import torch

torch.manual_seed(0)
X = torch.randn(100, 4)
y = torch.sin(X[:, :1])
ps = [
    (torch.randn(4, 24) * 0.5).requires_grad_(),
    torch.zeros(24, requires_grad=True),
    (torch.randn(24, 1) * 0.2).requires_grad_(),
    torch.zeros(1, requires_grad=True),
]
m = [torch.zeros_like(p) for p in ps]
v = [torch.zeros_like(p) for p in ps]
for t in range(1, 151):
    out = torch.tanh(X @ ps[0] + ps[1]) @ ps[2] + ps[3]
    loss = ((out - y) ** 2).mean()
    g = torch.autograd.grad(loss, ps)
    with torch.no_grad():
        for i, p in enumerate(ps):
            m[i] = 0.9 * m[i] + 0.1 * g[i]
            v[i] = 0.999 * v[i] + 0.001 * g[i] ** 2
            p -= 0.01 * (m[i] / (1 - 0.9**t)) / ((v[i] / (1 - 0.999**t)).sqrt() + 1e-8)
print(loss.item())
