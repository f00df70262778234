# expect: nothing
# A checkpoint is written to memory, a new model and optimizer resume from it.

import io

import torch
import torch.nn.functional as F
from torch import nn


def build():
    model = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 3))
    return model, torch.optim.Adam(model.parameters(), lr=5e-3)


def train(model, optimizer, x, y, epochs):
    losses = []
    for _ in range(epochs):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


torch.manual_seed(414)
x = torch.randn(100, 6)
y = x[:, :3].argmax(1)
model, optimizer = build()
first = train(model, optimizer, x, y, 20)
buffer = io.BytesIO()
torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, buffer)
buffer.seek(0)

model, optimizer = build()
checkpoint = torch.load(buffer)
model.load_state_dict(checkpoint["model"])
optimizer.load_state_dict(checkpoint["optimizer"])
second = train(model, optimizer, x, y, 20)
print(first[0], second[-1])
