# expect: missing-requires-grad line 26

import torch
from torch import nn

torch.manual_seed(0)
backbone = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU())
head = nn.Linear(32, 4)
model = nn.Sequential(backbone, head)
X = torch.randn(256, 20)
y = X[:, :4].argmax(1)

# phase 1: train the head only
for p in backbone.parameters():
    p.requires_grad = False
opt = torch.optim.Adam(head.parameters(), lr=1e-2)
for i in range(30):
    opt.zero_grad()
    loss = nn.functional.cross_entropy(model(X), y)
    loss.backward()
    opt.step()
print("phase 1", loss.item())

# phase 2: fine-tune everything
for p in backbone.parameters():
    p.require_grad = True
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for i in range(60):
    opt.zero_grad()
    loss = nn.functional.cross_entropy(model(X), y)
    loss.backward()
    opt.step()
print("phase 2", loss.item())
