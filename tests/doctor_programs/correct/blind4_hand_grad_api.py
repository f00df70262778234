# expect: nothing

import torch

torch.manual_seed(0)
X = torch.randn(64, 4)
y = torch.sin(X.sum(1, keepdim=True))
W1 = (torch.randn(4, 20) * 0.5).requires_grad_()
b1 = torch.zeros(20, requires_grad=True)
W2 = (torch.randn(20, 1) * 0.2).requires_grad_()
ps = [W1, b1, W2]
for k in range(150):
    loss = ((torch.tanh(X @ W1 + b1) @ W2 - y) ** 2).mean()
    gs = torch.autograd.grad(loss, ps)
    with torch.no_grad():
        for p, g in zip(ps, gs):
            p.sub_(0.1 * g)
    if k % 30 == 0:
        print(k, loss.item())
