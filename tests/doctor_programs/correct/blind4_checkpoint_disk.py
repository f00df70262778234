# expect: nothing

import os
import tempfile
import torch
from torch import nn

torch.manual_seed(0)
path = os.path.join(tempfile.mkdtemp(), "ck.pt")


def build():
    m = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
    return m, torch.optim.Adam(m.parameters(), lr=1e-2)


X = torch.randn(128, 4)
y = X.sum(1, keepdim=True)


def run(m, o, n):
    for _ in range(n):
        o.zero_grad()
        l = nn.functional.mse_loss(m(X), y)
        l.backward()
        o.step()
    return l.item()


m, o = build()
print(run(m, o, 30))
torch.save({"model": m.state_dict(), "opt": o.state_dict(), "ep": 30}, path)
m2, o2 = build()
ck = torch.load(path)
m2.load_state_dict(ck["model"])
o2.load_state_dict(ck["opt"])
print(run(m2, o2, 30))
