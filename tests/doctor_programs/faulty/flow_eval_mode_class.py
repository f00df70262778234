# expect: train-eval-mode line 21

import torch
from torch import nn


class Trainer:
    def __init__(self, model):
        self.model = model
        self.opt = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def train_step(self, x, y):
        self.opt.zero_grad()
        loss = nn.functional.cross_entropy(self.model(x), y)
        loss.backward()
        self.opt.step()
        return loss.item()

    @torch.no_grad()
    def score(self, x, y):
        out = self.model(x)
        return (out.argmax(1) == y).float().mean().item()


torch.manual_seed(0)
m = nn.Sequential(
    nn.Linear(10, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.5), nn.Linear(64, 3)
)
t = Trainer(m)
X = torch.randn(200, 10)
Y = X[:, :3].argmax(1)
XV = torch.randn(60, 10)
YV = XV[:, :3].argmax(1)
for ep in range(5):
    for i in range(0, 200, 40):
        t.train_step(X[i : i + 40], Y[i : i + 40])
    print(ep, t.score(XV, YV))
