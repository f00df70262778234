# expect: missing-requires-grad line 14, 23
# Unfreezing after the warm-up sets `require_grad`, a new attribute, and changes nothing.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(43)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 24), nn.ReLU())
        self.head = nn.Linear(24, 3)

    def forward(self, x):
        return self.head(self.body(x))


def set_trainable(module, flag):
    for parameter in module.parameters():
        parameter.require_grad = flag


x = torch.randn(90, 12)
y = (x[:, :6] * x[:, 6:]).view(90, 3, 2).sum(2).argmax(1)
net = Net()
for parameter in net.body.parameters():
    parameter.requires_grad = False
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
WARMUP = 3
for epoch in range(10):
    if epoch == WARMUP:
        set_trainable(net.body, True)
    for xb, yb in zip(x.split(30), y.split(30)):
        loss = F.cross_entropy(net(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
