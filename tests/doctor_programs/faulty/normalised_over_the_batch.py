# expect: batch-mixing line 16
# F.normalize(..., dim=0) scales features by the batch instead of scaling each embedding.

import torch
import torch.nn.functional as F
from torch import nn


class Embedder(nn.Module):
    def __init__(self, n_in=8, dim=6, classes=4):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_in, 32), nn.ReLU(), nn.Linear(32, dim))
        self.proxies = nn.Parameter(torch.randn(classes, dim))

    def forward(self, x):
        z = F.normalize(self.body(x), dim=0)
        return 8.0 * z @ F.normalize(self.proxies, dim=1).t()


torch.manual_seed(620)
x = torch.randn(120, 8)
y = x[:, :4].argmax(1)
model = Embedder()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(10):
    for xb, yb in zip(x.split(30), y.split(30)):
        loss = F.cross_entropy(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 3 == 0:
        print(epoch, loss.item())
