# expect: nothing

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU())
        self.head = nn.Linear(32, 3)

    def forward(self, x):
        with torch.no_grad():
            f = self.backbone(x)
        return self.head(f)


torch.manual_seed(0)
m = Model()
for p in m.backbone.parameters():
    p.requires_grad_(False)
opt = torch.optim.Adam(m.head.parameters(), lr=1e-2)
X = torch.randn(200, 16)
y = X[:, :3].argmax(1)
for ep in range(15):
    for i in torch.randperm(200).split(25):
        loss = nn.functional.cross_entropy(m(X[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(ep, loss.item())
