# expect: param-not-in-optimizer line 17, 23
# Each fold builds a new model, the optimizer still holds the parameters of the first one.

import torch
import torch.nn.functional as F
from torch import nn


def make_model():
    return nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))


torch.manual_seed(51)
x = torch.randn(90, 6)
y = (x[:, 0] > x[:, 1]).long()
model = make_model()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

scores = []
for fold in range(3):
    test_index = torch.arange(fold * 30, (fold + 1) * 30)
    train_index = torch.tensor([i for i in range(90) if i not in set(test_index.tolist())])
    model = make_model()
    for _ in range(10):
        model.zero_grad()
        loss = F.cross_entropy(model(x[train_index]), y[train_index])
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        scores.append((model(x[test_index]).argmax(1) == y[test_index]).float().mean().item())
    print(f"fold {fold}: loss {loss.item():.4f} accuracy {scores[-1]:.2f}")
