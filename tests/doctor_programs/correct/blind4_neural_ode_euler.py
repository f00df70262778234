# expect: nothing

import clew as torch
import clew.nn as nn

torch.manual_seed(0)
f = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 2))
opt = torch.optim.Adam(f.parameters(), lr=5e-3)
A = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
for it in range(50):
    z = torch.randn(16, 2)
    zt = z
    loss = 0.0
    for k in range(10):
        z = z + 0.05 * f(z)
        zt = zt + 0.05 * zt @ A.t()
        loss = loss + ((z - zt) ** 2).mean() / 10
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 10 == 0:
        print(it, loss.item())
