# expect: detached-graph line 18
# forward() detaches the encoder's features, so the encoder in the optimizer never learns.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(30)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 8))
        self.head = nn.Linear(8, 3)

    def features(self, x):
        return self.encoder(x).detach()

    def forward(self, x):
        return self.head(F.relu(self.features(x)))


x = torch.randn(120, 10)
y = (x[:, :3] ** 2).argmax(dim=1)
model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(10):
    for xb, yb in zip(x.split(40), y.split(40)):
        loss = F.cross_entropy(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 3 == 0:
        print("epoch", epoch, "loss", loss.item())
