# expect: exploding-gradient line 12, 18
# The linear recurrence multiplies by a matrix of spectral radius 2 for thirty steps.

import torch
from torch import nn


class LinearRecurrence(nn.Module):
    def __init__(self, n_in=2, hidden=12):
        super().__init__()
        self.inp = nn.Linear(n_in, hidden)
        self.recurrent = nn.Parameter(2.0 * torch.eye(hidden))
        self.out = nn.Linear(hidden, 1)

    def forward(self, seq):
        h = torch.zeros(seq.size(0), 12)
        for t in range(seq.size(1)):
            h = h @ self.recurrent + self.inp(seq[:, t])
        return self.out(h)


torch.manual_seed(102)
net = LinearRecurrence()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
seq = torch.randn(32, 30, 2)
target = seq[:, :, :1].mean(dim=1)
for epoch in range(10):
    loss = nn.functional.mse_loss(net(seq), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 3 == 0:
        print(f"epoch {epoch} loss {loss.item():.4e}")
