# expect: train-eval-mode line 17, 26

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(
    nn.Linear(10, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.3), nn.Linear(64, 2)
)
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
X = torch.randn(400, 10)
y = (X[:, 0] * X[:, 1] > 0).long()
Xtr, ytr, Xva, yva = X[:320], y[:320], X[320:], y[320:]


def evaluate():
    model.eval()
    with torch.no_grad():
        return (model(Xva).argmax(1) == yva).float().mean().item()


model.train()
for epoch in range(8):
    for i in torch.randperm(320).split(32):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(Xtr[i]), ytr[i])
        loss.backward()
        opt.step()
    print(epoch, loss.item(), evaluate())
