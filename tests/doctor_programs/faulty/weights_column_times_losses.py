# expect: loss-broadcast line 17
# Per-sample weights of shape (N, 1) meet per-sample losses of shape (N,).

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(90, 4)
y = (x[:, 0] > 0).long()
w = torch.rand(90, 1)
model = nn.Linear(4, 2)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
per_sample = nn.CrossEntropyLoss(reduction="none")
for i in range(20):
    idx = torch.randint(0, 90, (30,))
    losses = per_sample(model(x[idx]), y[idx])
    loss = (losses * w[idx]).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
