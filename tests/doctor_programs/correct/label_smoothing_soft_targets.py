# expect: nothing
# Cross-entropy on logits with smoothed and mixed class probabilities as targets.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(243)
x = torch.randn(150, 8)
y = F.one_hot(x[:, :3].argmax(1), 3).float()
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 3))
criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.8)


def mixup(xb, yb, alpha=0.2):
    lam = torch.distributions.Beta(alpha, alpha).sample().item()
    order = torch.randperm(len(xb))
    return lam * xb + (1 - lam) * xb[order], lam * yb + (1 - lam) * yb[order]


losses = []
for _ in range(12):
    for xb, yb in zip(x.split(50), y.split(50)):
        mixed_x, mixed_y = mixup(xb, yb)
        loss = criterion(model(mixed_x), mixed_y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
print("loss", sum(losses[:3]) / 3, sum(losses[-3:]) / 3)
