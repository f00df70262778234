# expect: nothing
# Each member gets its own bootstrap sample.

import clew as torch
from clew import nn

torch.manual_seed(0)
x = torch.randn(100, 4)
y = x[:, :1] * x[:, 1:2]
members = [nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1)) for _ in range(3)]
opts = [torch.optim.Adam(m.parameters(), lr=1e-2) for m in members]
samples = [torch.randint(0, 100, (100,)) for _ in members]
for epoch in range(10):
    preds, targets = [], []
    for m, idx in zip(members, samples):
        preds.append(m(x[idx]))
        targets.append(y[idx])
    for p, t, o in zip(preds, targets, opts):
        loss = nn.functional.mse_loss(p, t)
        o.zero_grad()
        loss.backward()
        o.step()
print(loss.item())
