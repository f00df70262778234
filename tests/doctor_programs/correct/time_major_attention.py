# expect: nothing
# Time-major layout: softmax over dim 0 is over time, the batch is dim 1.

import torch
from torch import nn


class TimeMajorPooling(nn.Module):
    def __init__(self, n_in=4, hidden=16):
        super().__init__()
        self.rnn = nn.GRU(n_in, hidden)
        self.score = nn.Linear(hidden, 1)
        self.out = nn.Linear(hidden, 2)

    def forward(self, x):
        h, _ = self.rnn(x)
        weights = torch.softmax(self.score(h), dim=0)
        return self.out((weights * h).sum(dim=0))


torch.manual_seed(410)
x = torch.randn(7, 90, 4)
y = (x[..., 0].max(dim=0).values > 1.2).long()
model = TimeMajorPooling()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
losses = []
for _ in range(12):
    for xb, yb in zip(x.split(30, dim=1), y.split(30)):
        loss = nn.functional.cross_entropy(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
print(losses[0], losses[-1])
