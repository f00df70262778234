# expect: nothing
# Training and test rows are views of one tensor that do not overlap.

import torch
from torch import nn

torch.manual_seed(275)
table = torch.randn(240, 7)
table[:, -1] = table[:, 0] - 0.5 * table[:, 1]
train, test = table[:180], table[180:]
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)


def error(rows):
    with torch.no_grad():
        return (model(rows[:, :6]) - rows[:, 6:]).pow(2).mean().item()


first = error(test)
for _ in range(15):
    for rows in train.split(60):
        loss = (model(rows[:, :6]) - rows[:, 6:]).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    train_error = error(train)
print("training error", train_error)
print("test error", first, error(test))
