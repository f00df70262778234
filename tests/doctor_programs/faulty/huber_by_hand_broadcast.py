# expect: loss-broadcast line 9
# The hand-written Huber loss subtracts (N,) targets from (N, 1) predictions.

import torch
from torch import nn


def huber(prediction, target, delta=1.0):
    error = prediction - target
    small = error.abs() <= delta
    return torch.where(small, 0.5 * error**2, delta * (error.abs() - 0.5 * delta)).mean()


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(1, 16, batch_first=True)
        self.out = nn.Linear(16, 1)

    def forward(self, window):
        _, h = self.gru(window.unsqueeze(-1))
        return self.out(h[-1])


torch.manual_seed(917)
series = torch.sin(torch.arange(130) * 0.3)
windows = series.unfold(0, 11, 1)
model = Forecaster()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(6):
    for batch in windows[torch.randperm(len(windows))].split(30):
        loss = huber(model(batch[:, :10]), batch[:, 10])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
