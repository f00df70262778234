# expect: non-scalar-backward line 19, 21
# With reduction="none" the weighted per-sample losses are never averaged.

import torch
from torch import nn

torch.manual_seed(84)
x = torch.randn(60, 4)
y = (x[:, 0] + 0.3 * torch.randn(60) > 1.0).long()
class_weight = torch.tensor([1.0, 5.0])

model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
criterion = nn.CrossEntropyLoss(reduction="none")
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

for epoch in range(5):
    for xb, yb in zip(x.split(20), y.split(20)):
        per_sample = criterion(model(xb), yb)
        loss = per_sample * class_weight[yb]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.mean().item())
