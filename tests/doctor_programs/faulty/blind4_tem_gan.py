# expect: train-eval-mode line 22

import torch
from torch import nn

torch.manual_seed(0)
enc = nn.Sequential(nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU())
head = nn.Sequential(nn.Dropout(0.3), nn.Linear(32, 2))
opt = torch.optim.Adam([*enc.parameters(), *head.parameters()], lr=3e-3)
X = torch.randn(300, 8)
y = (X[:, 0] > 0).long()
for ep in range(6):
    enc.train()
    head.train()
    for i in torch.randperm(240).split(24):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(head(enc(X[i])), y[i])
        loss.backward()
        opt.step()
    enc.eval()
    with torch.no_grad():
        acc = (head(enc(X[240:])).argmax(1) == y[240:]).float().mean()
    print(ep, acc.item())
