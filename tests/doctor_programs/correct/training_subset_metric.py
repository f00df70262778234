# expect: nothing
# After each epoch the loss on a few training rows is printed: a training metric.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(1009)
x = torch.randn(200, 6)
y = x[:, :3].argmax(1)
probe = torch.randperm(200)[:40]
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)


def training_metric():
    model.eval()
    with torch.no_grad():
        value = F.cross_entropy(model(x[probe]), y[probe]).item()
    model.train()
    return value


values = [training_metric()]
for _ in range(10):
    for index in torch.randperm(200).split(40):
        loss = F.cross_entropy(model(x[index]), y[index])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    values.append(training_metric())
print(values[0], values[-1])
