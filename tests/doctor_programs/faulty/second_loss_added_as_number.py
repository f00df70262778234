# expect: detached-graph line 32
# The box loss enters the total through .item(): its head never receives a gradient.

import torch
import torch.nn.functional as F
from torch import nn


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(16, 32), nn.ReLU())
        self.classes = nn.Linear(32, 3)
        self.boxes = nn.Linear(32, 4)

    def forward(self, x):
        h = self.backbone(x)
        return self.classes(h), self.boxes(h)


torch.manual_seed(187)
x = torch.randn(96, 16)
label = x[:, :3].argmax(1)
box = torch.sigmoid(x[:, 4:8])
model = Detector()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(8):
    for i in range(0, 96, 24):
        logits, predicted = model(x[i : i + 24])
        loss_cls = F.cross_entropy(logits, label[i : i + 24])
        loss_box = F.smooth_l1_loss(predicted, box[i : i + 24])
        loss = loss_cls + 2.0 * loss_box.item()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, f"cls {loss_cls.item():.4f} box {loss_box.item():.4f}")
