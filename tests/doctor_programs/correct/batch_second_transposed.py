# expect: nothing
# Time-major RNN output is transposed before flattening, samples stay apart.

import torch
from torch import nn


class SequenceRegressor(nn.Module):
    def __init__(self, n_in=3, hidden=8, length=6):
        super().__init__()
        self.rnn = nn.GRU(n_in, hidden)
        self.fc = nn.Linear(hidden * length, 1)

    def forward(self, x):
        out, _ = self.rnn(x.transpose(0, 1))
        return self.fc(out.transpose(0, 1).reshape(x.size(0), -1))


torch.manual_seed(287)
x = torch.randn(60, 6, 3)
y = x[:, 0, :1] - x[:, -1, 1:2]
model = SequenceRegressor()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
losses = []
for _ in range(15):
    for xb, yb in zip(x.split(20), y.split(20)):
        loss = nn.functional.mse_loss(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
print(losses[0], losses[-1])
