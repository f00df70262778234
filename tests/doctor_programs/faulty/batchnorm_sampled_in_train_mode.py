# expect: train-eval-mode line 28
# Predictions run in train mode after training: BatchNorm uses the statistics of each chunk.

import torch
from torch import nn

torch.manual_seed(142)
x = torch.randn(240, 6) * 2 + 1
y = torch.sin(x[:, :1]) + 0.5 * x[:, 1:2]
train_x, train_y, test_x, test_y = x[:200], y[:200], x[200:], y[200:]

model = nn.Sequential(nn.Linear(6, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(15):
    order = torch.randperm(200)
    for index in order.split(50):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(train_x[index]), train_y[index])
        loss.backward()
        optimizer.step()
print("train loss", loss.item())


def predict(inputs):
    outputs = []
    with torch.no_grad():
        for chunk in inputs.split(4):
            outputs.append(model(chunk))
    return torch.cat(outputs)


error = (predict(test_x) - test_y).pow(2).mean().item()
print("test error", error)
