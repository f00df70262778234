# expect: detached-graph line 16
# torch.round has zero gradient: the encoder behind the quantiser does not learn.

import torch
import torch.nn as nn


class QuantAutoEncoder(nn.Module):
    def __init__(self, dim=10, code=6, levels=8):
        super().__init__()
        self.levels = levels
        self.enc = nn.Sequential(nn.Linear(dim, 20), nn.ReLU(), nn.Linear(20, code), nn.Sigmoid())
        self.dec = nn.Sequential(nn.Linear(code, 20), nn.ReLU(), nn.Linear(20, dim))

    def quantise(self, z):
        return torch.round(z * self.levels) / self.levels

    def forward(self, x):
        return self.dec(self.quantise(self.enc(x)))


torch.manual_seed(39)
data = torch.randn(128, 3) @ torch.randn(3, 10)
model = QuantAutoEncoder()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(15):
    epoch_loss = 0.0
    for batch in data.split(32):
        opt.zero_grad()
        loss = nn.functional.mse_loss(model(batch), batch)
        loss.backward()
        opt.step()
        epoch_loss += loss.item()
    if epoch % 5 == 0:
        print("epoch", epoch, "reconstruction", epoch_loss / 4)
