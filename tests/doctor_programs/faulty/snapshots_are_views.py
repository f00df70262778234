# expect: aliased-buffer line 18
# Snapshots of parameters for averaging are detached, not cloned.

import clew as torch
from clew import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 12), nn.ReLU(), nn.Linear(12, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.05)
snapshots = []
for i in range(30):
    x = torch.randn(16, 4)
    loss = nn.functional.mse_loss(net(x), x[:, :1])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 10 == 9:
        snapshots.append([p.detach() for p in net.parameters()])
with torch.no_grad():
    for j, p in enumerate(net.parameters()):
        p.copy_(torch.stack([s[j] for s in snapshots]).mean(0))
print(loss.item())
