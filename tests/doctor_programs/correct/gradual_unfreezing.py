# expect: nothing
# The backbone is frozen for two epochs, then unfrozen and added as a parameter group.

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(8, 32), nn.Tanh())
        self.head = nn.Linear(32, 2)

    def forward(self, x):
        return self.head(self.backbone(x))


torch.manual_seed(203)
net = Net()
net.backbone.requires_grad_(False)
optimizer = torch.optim.AdamW(net.head.parameters(), lr=1e-2)
x = torch.randn(120, 8)
y = (x[:, 0] * x[:, 1] > 0).long()
losses = []
for epoch in range(12):
    if epoch == 2:
        net.backbone.requires_grad_(True)
        optimizer.add_param_group({"params": net.backbone.parameters(), "lr": 5e-3})
    for xb, yb in zip(x.split(40), y.split(40)):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(xb), yb)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
print("loss", losses[0], losses[-1])
