# expect: data-leak line 9, 11, 20

import torch

torch.manual_seed(0)
X = torch.randn(300, 5)
y = X @ torch.tensor([1.0, 2.0, -1.0, 0.5, 0.0]) + 0.1 * torch.randn(300)
perm = torch.randperm(300)
train_idx, test_idx = perm[:240], perm[200:]
Xtr, ytr = X[train_idx], y[train_idx]
Xte, yte = X[test_idx], y[test_idx]
w = torch.zeros(5, requires_grad=True)
for step in range(100):
    loss = ((Xtr @ w - ytr) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        w -= 0.05 * w.grad
        w.grad = None
with torch.no_grad():
    print("test", ((Xte @ w - yte) ** 2).mean().item())
