# expect: nothing

import clew as torch
import clew.nn as nn

torch.manual_seed(0)
X = torch.randn(200, 4)
y = X[:, :1].sin() + X[:, 1:2]
models = [nn.Sequential(nn.Linear(4, 24), nn.Tanh(), nn.Linear(24, 1)) for _ in range(3)]
opts = [torch.optim.Adam(m.parameters(), lr=5e-3) for m in models]
for ep in range(8):
    for m, o in zip(models, opts):
        boot = torch.randint(0, 160, (160,))
        for i in boot.split(32):
            o.zero_grad()
            loss = nn.functional.mse_loss(m(X[i]), y[i])
            loss.backward()
            o.step()
with torch.no_grad():
    p = torch.stack([m(X[160:]) for m in models]).mean(0)
print(nn.functional.mse_loss(p, y[160:]).item())
