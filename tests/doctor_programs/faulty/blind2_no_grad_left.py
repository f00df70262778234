# expect: detached-graph line 14

import clew as torch
import clew.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
X = torch.randn(80, 5)
y = X[:, :1]


def evaluate():
    torch.set_grad_enabled(False)
    return nn.functional.mse_loss(net(X[60:]), y[60:]).item()


for ep in range(5):
    loss = nn.functional.mse_loss(net(X[:60]), y[:60])
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(ep, evaluate())
