# expect: nothing
# Rare rows are drawn several times per epoch, the held-out rows are others.

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler

torch.manual_seed(427)
x = torch.randn(260, 5)
y = (x[:, 0] + x[:, 1] > 1.2).long()
train_x, train_y, test_x, test_y = x[:200], y[:200], x[200:], y[200:]
weights = torch.where(train_y == 1, 4.0, 1.0)
sampler = WeightedRandomSampler(weights, num_samples=200, replacement=True)
loader = DataLoader(TensorDataset(train_x, train_y), batch_size=40, sampler=sampler)
model = nn.Sequential(nn.Linear(5, 24), nn.ReLU(), nn.Linear(24, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)


def test_loss():
    model.eval()
    with torch.no_grad():
        value = F.cross_entropy(model(test_x), test_y).item()
    model.train()
    return value


first = test_loss()
for _ in range(8):
    for xb, yb in loader:
        loss = F.cross_entropy(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(first, test_loss())
