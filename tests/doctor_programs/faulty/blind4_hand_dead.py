# expect: dead-relu line 9, 14

import clew as torch

torch.manual_seed(0)
X = torch.rand(128, 5)
y = X.sum(1, keepdim=True)
W1 = (torch.randn(5, 32) * 0.1).requires_grad_()
b1 = torch.full((32,), -3.0, requires_grad=True)
W2 = (torch.randn(32, 1) * 0.1).requires_grad_()
b2 = torch.zeros(1, requires_grad=True)
opt = torch.optim.Adam([W1, b1, W2, b2], lr=1e-3)
for i in range(60):
    h = torch.relu(X @ W1 + b1)
    loss = ((h @ W2 + b2 - y) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
