# expect: graph-leak line 14
# The exponential average of the loss, meant for printing, chains every past graph.

import torch
from torch import nn


def train(model, batches, lr=0.01, beta=0.98):
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    smooth = 0.0
    for i, (x, y) in enumerate(batches, 1):
        out = model(x)
        loss = nn.functional.mse_loss(out, y)
        smooth = beta * smooth + (1 - beta) * loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if i % 20 == 0:
            print(f"batch {i}: smoothed loss {smooth.item() / (1 - beta**i):.4f}")


torch.manual_seed(74)
w = torch.randn(5, 2)
batches = []
for _ in range(80):
    x = torch.randn(16, 5)
    batches.append((x, torch.relu(x @ w)))
train(nn.Sequential(nn.Linear(5, 20), nn.ReLU(), nn.Linear(20, 2)), batches)
