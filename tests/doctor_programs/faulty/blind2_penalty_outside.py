# expect: backward-twice line 11, 15

import clew as torch
import clew.nn as nn

torch.manual_seed(0)
model = nn.Linear(10, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.01)
X = torch.randn(64, 10)
y = X[:, :1] * 2
l2 = sum((p**2).sum() for p in model.parameters())
for epoch in range(10):
    loss = ((model(X) - y) ** 2).mean() + 1e-3 * l2
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(epoch, loss.item())
