# expect: param-unused line 12, 17
# The decoder GRU is stepped over: the readout takes the encoder's output.

import torch
from torch import nn


class TwoStage(nn.Module):
    def __init__(self):
        super().__init__()
        self.lower = nn.GRU(3, 16, batch_first=True)
        self.upper = nn.GRU(16, 16, batch_first=True)
        self.readout = nn.Linear(16, 1)

    def forward(self, x):
        low, _ = self.lower(x)
        return self.readout(low[:, -1])


torch.manual_seed(906)
model = TwoStage()
optimizer = torch.optim.RMSprop(model.parameters(), lr=2e-3)
x = torch.randn(60, 8, 3)
y = x[:, -2:, :1].mean(dim=1)
for epoch in range(10):
    for xb, yb in zip(x.split(20), y.split(20)):
        loss = nn.functional.mse_loss(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 3 == 0:
        print(epoch, loss.item())
