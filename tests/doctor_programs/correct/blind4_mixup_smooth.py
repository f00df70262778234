# expect: nothing

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(10, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Linear(48, 4))
opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
ce = nn.CrossEntropyLoss(label_smoothing=0.1)
beta = torch.distributions.Beta(0.4, 0.4)
X = torch.randn(320, 10)
y = X[:, :4].argmax(1)
for ep in range(8):
    net.train()
    for i in torch.randperm(256).split(32):
        lam = beta.sample().item()
        p = torch.randperm(len(i))
        xb = lam * X[i] + (1 - lam) * X[i][p]
        out = net(xb)
        loss = lam * ce(out, y[i]) + (1 - lam) * ce(out, y[i][p])
        opt.zero_grad()
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        print(ep, loss.item(), (net(X[256:]).argmax(1) == y[256:]).float().mean().item())
