# expect: param-not-in-optimizer line 15, 16
# The head is replaced for the new number of classes after the optimizer was made.

import torch
from torch import nn


def get_model():
    return nn.Sequential(nn.Linear(9, 32), nn.ReLU(), nn.Linear(32, 10))


torch.manual_seed(0)
model = get_model()
cfg = {"lr": 1e-3, "wd": 0.01}
opt = torch.optim.AdamW(model.parameters(), lr=cfg["lr"], weight_decay=cfg["wd"])
model[-1] = nn.Linear(32, 2)
X = torch.randn(64, 9)
y = (X[:, 4] > 0).long()
for epoch in range(10):
    for xb, yb in zip(X.chunk(4), y.chunk(4)):
        opt.zero_grad()
        nn.functional.cross_entropy(model(xb), yb).backward()
        opt.step()
