# expect: detached-graph line 15

import torch
import torch.nn as nn


class SparseAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(10, 24)
        self.decoder = nn.Linear(24, 10)

    def forward(self, x):
        code = torch.relu(self.encoder(x))
        return self.decoder(code.data), code


torch.manual_seed(0)
model = SparseAE()
opt = torch.optim.SGD(model.parameters(), lr=0.05)
for it in range(40):
    x = torch.randn(32, 10)
    out, code = model(x)
    loss = (out - x).pow(2).mean() + 1e-3 * code.abs().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
