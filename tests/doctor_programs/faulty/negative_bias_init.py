# expect: dead-relu line 11, 13, 16
# The bias initialisation pushes every unit of the hidden layer below zero for all data.

import torch
from torch import nn


class Scorer(nn.Module):
    def __init__(self, n_in=6, hidden=32):
        super().__init__()
        self.fc1 = nn.Linear(n_in, hidden)
        self.fc2 = nn.Linear(hidden, 1)
        nn.init.constant_(self.fc1.bias, -8.0)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))


torch.manual_seed(104)
x = torch.randn(128, 6)
y = x[:, :2].abs().sum(dim=1, keepdim=True)
model = Scorer()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(15):
    for xb, yb in zip(x.split(32), y.split(32)):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(xb), yb)
        loss.backward()
        optimizer.step()
    if epoch % 5 == 0:
        print(f"epoch {epoch} loss {loss.item():.4f}")
