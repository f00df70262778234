# expect: param-not-in-optimizer line 12, 22
# The body is unfrozen after the warm-up, but the optimizer was built over the head alone.

import torch
import torch.nn.functional as F
from torch import nn


class Transfer(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(9, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU())
        self.head = nn.Linear(16, 3)
        self.body.requires_grad_(False)

    def forward(self, x):
        return self.head(self.body(x))


torch.manual_seed(313)
model = Transfer()
optimizer = torch.optim.Adam(model.head.parameters(), lr=5e-3)
x = torch.randn(90, 9)
y = x[:, 3:6].argmax(1)
for epoch in range(12):
    if epoch == 4:
        model.body.requires_grad_(True)
        print("unfreezing the body")
    for xb, yb in zip(x.split(30), y.split(30)):
        model.zero_grad()
        loss = F.cross_entropy(model(xb), yb)
        loss.backward()
        optimizer.step()
    print(epoch, round(loss.item(), 4))
