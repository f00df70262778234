# expect: nothing

import clew as torch
from clew import nn

torch.manual_seed(0)
X = torch.randn(300, 4)
y = (X[:, 0] + 0.3 * X[:, 1] > 0).float().unsqueeze(1)
hard = (X[:, 0] + 0.3 * X[:, 1]).abs()
order = hard.argsort(descending=True)
net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
bce = nn.BCEWithLogitsLoss()
for ep in range(10):
    n = min(300, 60 + ep * 30)
    pool = order[:n]
    for i in pool[torch.randperm(n)].split(30):
        loss = bce(net(X[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(ep, n, loss.item())
