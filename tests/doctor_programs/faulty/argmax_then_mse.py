# expect: detached-graph line 11
# The loss is computed on argmax class numbers; requires_grad_ on it only hides the error.

import torch
from torch import nn

torch.manual_seed(33)


def ordinal_loss(logits, target):
    predicted = logits.argmax(dim=1).float()
    loss = nn.functional.l1_loss(predicted, target.float())
    return loss.requires_grad_()


x = torch.randn(150, 5)
score = x @ torch.tensor([1.0, -1.0, 0.5, 0.0, 2.0])
y = torch.bucketize(score, torch.tensor([-2.0, -0.5, 0.5, 2.0]))

model = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 5))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(5):
    total = 0.0
    for i in range(0, 150, 50):
        optimizer.zero_grad()
        loss = ordinal_loss(model(x[i : i + 50]), y[i : i + 50])
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch} mean rank error {total / 3:.3f}")
