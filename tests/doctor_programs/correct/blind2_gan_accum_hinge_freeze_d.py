# expect: nothing

import clew as torch
import clew.nn as nn

torch.manual_seed(0)
G = nn.Sequential(nn.Linear(3, 24), nn.ReLU(), nn.Linear(24, 2))
D = nn.Sequential(nn.Linear(2, 24), nn.LeakyReLU(0.1), nn.Linear(24, 1))
og = torch.optim.Adam(G.parameters(), 1e-3)
od = torch.optim.Adam(D.parameters(), 1e-3)
for i in range(30):
    D.requires_grad_(True)
    D.zero_grad()
    real = torch.randn(32, 2) + 1
    lr_ = torch.relu(1 - D(real)).mean()
    lr_.backward()
    with torch.no_grad():
        f = G(torch.randn(32, 3))
    lf = torch.relu(1 + D(f)).mean()
    lf.backward()
    od.step()
    D.requires_grad_(False)
    G.zero_grad()
    gl = -D(G(torch.randn(32, 3))).mean()
    gl.backward()
    og.step()
print(gl.item())
