# expect: nothing

import clew as torch
import clew.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 2))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
X = torch.randn(216, 6)
y = (X[:, 0] > 0).long()
K = 4
for ep in range(5):
    opt.zero_grad()
    batches = list(torch.randperm(216).split(24))
    for k, i in enumerate(batches):
        loss = nn.functional.cross_entropy(net(X[i]), y[i])
        (loss / K).backward()
        if (k + 1) % K == 0 or k + 1 == len(batches):
            nn.utils.clip_grad_value_(net.parameters(), 0.5)
            opt.step()
            opt.zero_grad()
    print(ep, loss.item())
