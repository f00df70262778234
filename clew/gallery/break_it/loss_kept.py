"""A sum of losses that keeps the graph of every step alive.

The mean loss of an epoch is summed up as a tensor. The sum depends on every loss, each loss on its
graph, and each graph on its activations: memory grows until the epoch ends.
"""

import clew as torch

nn, F = torch.nn, torch.nn.functional
torch.manual_seed(0)

x = torch.randn(512, 16)
y = x.pow(2).sum(dim=1, keepdim=True) / 16
model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.003)

for epoch in range(3):
    total = torch.zeros(())
    for rows in torch.randperm(512).split(16):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
        total += loss  # the bug: the sum keeps the graph of every loss
    print(f"epoch {epoch}, mean loss {total / 32:.4f}")
