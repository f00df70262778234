# expect: missing-zero-grad line 13, 16, 17
# optimizer.zero_grad is only named, not called: gradients of all batches add up.

import torch
import torch.nn.functional as F
from torch import nn


def train(model, optimizer, batches, epochs=4):
    for epoch in range(epochs):
        correct = count = 0
        for x, y in batches:
            optimizer.zero_grad
            logits = model(x)
            loss = F.cross_entropy(logits, y)
            loss.backward()
            optimizer.step()
            correct += (logits.argmax(1) == y).sum().item()
            count += len(y)
        print(f"epoch {epoch} accuracy {correct / count:.3f} loss {loss.item():.4f}")


torch.manual_seed(185)
x = torch.randn(150, 1, 12)
y = (x.squeeze(1)[:, :6].sum(1) > x.squeeze(1)[:, 6:].sum(1)).long()
model = nn.Sequential(nn.Conv1d(1, 6, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(6 * 12, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
train(model, optimizer, list(zip(x.split(30), y.split(30))))
