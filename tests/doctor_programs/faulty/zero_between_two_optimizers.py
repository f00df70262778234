# expect: zero-grad-before-step line 34
# The whole model is cleared after the first optimizer's step, the second sees no gradient.

import torch
from torch import nn


class AutoEncoder(nn.Module):
    def __init__(self, width=12, code=3):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(width, 16), nn.ReLU(), nn.Linear(16, code))
        self.decoder = nn.Sequential(nn.Linear(code, 16), nn.ReLU(), nn.Linear(16, width))

    def forward(self, x):
        return self.decoder(self.encoder(x))


torch.manual_seed(9)
basis = torch.randn(3, 12)
data = torch.randn(256, 3) @ basis

ae = AutoEncoder()
optimizers = [
    torch.optim.Adam(ae.encoder.parameters(), lr=3e-3),
    torch.optim.Adam(ae.decoder.parameters(), lr=3e-3),
]
for epoch in range(6):
    total = 0.0
    for batch in data.split(64):
        loss = (ae(batch) - batch).pow(2).mean()
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
            ae.zero_grad()
        total += loss.item()
    print(epoch, total / 4)
