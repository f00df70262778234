# expect: nothing
# SAM-like two-pass update through closures.

import clew as torch
from clew import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(5, 20), nn.Tanh(), nn.Linear(20, 2))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(25):
    x = torch.randn(16, 5)
    y = (x[:, 0] > 0).long()
    nn.functional.cross_entropy(net(x), y).backward()
    with torch.no_grad():
        norm = torch.sqrt(sum((p.grad**2).sum() for p in net.parameters()))
        eps = [0.05 * p.grad / (norm + 1e-12) for p in net.parameters()]
        for p, e in zip(net.parameters(), eps):
            p.add_(e)
    opt.zero_grad()
    loss = nn.functional.cross_entropy(net(x), y)
    loss.backward()
    with torch.no_grad():
        for p, e in zip(net.parameters(), eps):
            p.sub_(e)
    opt.step()
    opt.zero_grad()
print(loss.item())
