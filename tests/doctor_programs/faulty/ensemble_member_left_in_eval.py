# expect: train-eval-mode line 26
# Each member is validated in turn; only the last one is put back into train mode.

import torch
import torch.nn.functional as F
from torch import nn


def member():
    return nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 2))


torch.manual_seed(1104)
x = torch.randn(200, 6)
y = (x[:, 0] > x[:, 1]).long()
models = [member() for _ in range(3)]
optimizers = [torch.optim.Adam(m.parameters(), lr=5e-3) for m in models]
for epoch in range(5):
    for model, optimizer in zip(models, optimizers):
        for xb, yb in zip(x[:150].split(50), y[:150].split(50)):
            loss = F.cross_entropy(model(xb), yb)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    for model in models:
        model.eval()
    with torch.no_grad():
        mean = torch.stack([model(x[150:]).softmax(1) for model in models]).mean(0)
    model.train()
    print(epoch, loss.item(), (mean.argmax(1) == y[150:]).float().mean().item())
