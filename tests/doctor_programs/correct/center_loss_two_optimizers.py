# expect: nothing
# Class centres have an optimizer of their own with a larger rate.

import torch
import torch.nn.functional as F
from torch import nn


class CenterLoss(nn.Module):
    def __init__(self, classes, dim):
        super().__init__()
        self.centers = nn.Parameter(torch.randn(classes, dim))

    def forward(self, features, labels):
        return (features - self.centers[labels]).pow(2).sum(dim=1).mean()


torch.manual_seed(431)
body, head = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 2)), nn.Linear(2, 3)
center_loss = CenterLoss(3, 2)
opt_net = torch.optim.Adam([*body.parameters(), *head.parameters()], lr=5e-3)
opt_center = torch.optim.SGD(center_loss.parameters(), lr=0.3)
x = torch.randn(150, 6)
y = x[:, :3].argmax(1)
losses = []
for _ in range(15):
    for xb, yb in zip(x.split(50), y.split(50)):
        features = body(xb)
        loss = F.cross_entropy(head(features), yb) + 0.1 * center_loss(features, yb)
        opt_net.zero_grad()
        opt_center.zero_grad()
        loss.backward()
        opt_net.step()
        opt_center.step()
        losses.append(loss.item())
print(losses[0], losses[-1])
