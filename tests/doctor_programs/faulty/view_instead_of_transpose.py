# expect: batch-mixing line 16
# The (time, batch, feature) output is viewed as (batch, -1): rows mix several samples.

import torch
from torch import nn


class SequenceRegressor(nn.Module):
    def __init__(self, n_in=3, hidden=8, length=6):
        super().__init__()
        self.rnn = nn.GRU(n_in, hidden)
        self.fc = nn.Linear(hidden * length, 1)

    def forward(self, x):
        out, _ = self.rnn(x.transpose(0, 1))
        flat = out.reshape(x.size(0), -1)
        return self.fc(flat)


torch.manual_seed(171)
x = torch.randn(60, 6, 3)
y = x[:, 0, :1] - x[:, -1, 1:2]
model = SequenceRegressor()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(12):
    for xb, yb in zip(x.split(20), y.split(20)):
        loss = nn.functional.mse_loss(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 4 == 0:
        print(epoch, loss.item())
