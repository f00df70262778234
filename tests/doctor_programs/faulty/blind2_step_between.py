# expect: inplace-saved-tensor line 20

import clew as torch
import clew.nn as nn

torch.manual_seed(0)
G = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 2))
D = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1))
og = torch.optim.Adam(G.parameters(), 1e-3)
od = torch.optim.Adam(D.parameters(), 1e-3)
bce = nn.functional.binary_cross_entropy_with_logits
for i in range(10):
    fake = G(torch.randn(16, 3))
    real = torch.randn(16, 2)
    df = D(fake)
    gl = bce(df, torch.ones(16, 1))
    dl = bce(D(real), torch.ones(16, 1)) + bce(df, torch.zeros(16, 1))
    od.zero_grad()
    dl.backward(retain_graph=True)
    od.step()
    og.zero_grad()
    gl.backward()
    og.step()
