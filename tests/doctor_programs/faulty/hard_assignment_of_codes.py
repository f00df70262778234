# expect: detached-graph line 15
# The encoder of a vector quantiser gets nothing: no straight-through, no commitment term.

import torch
from torch import nn


class Quantiser(nn.Module):
    def __init__(self, n, d):
        super().__init__()
        self.codes = nn.Embedding(n, d)

    def forward(self, z):
        dist = torch.cdist(z, self.codes.weight)
        index = dist.argmin(dim=1)
        return self.codes(index)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4))
        self.quant = Quantiser(10, 4)
        self.decoder = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 6))

    def forward(self, x):
        return self.decoder(self.quant(self.encoder(x)))


torch.manual_seed(0)
model = Model()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for i in range(30):
    x = torch.randn(24, 6)
    rec = model(x)
    loss = nn.functional.mse_loss(rec, x)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
