# expect: train-eval-mode line 17, 28
# score() is used every epoch and leaves the model in eval mode.

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(5, 24), nn.BatchNorm1d(24), nn.ReLU(), nn.Linear(24, 2))

    def forward(self, x):
        return self.net(x)

    def score(self, x, y):
        self.eval()
        with torch.no_grad():
            return (self(x).argmax(1) == y).float().mean().item()


torch.manual_seed(0)
model = Model()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
x, xt = torch.randn(160, 5), torch.randn(60, 5)
for epoch in range(5):
    for xb in x.split(20):
        loss = nn.functional.cross_entropy(model(xb), (xb[:, 0] > 0).long())
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(model.score(xt, (xt[:, 0] > 0).long()))
