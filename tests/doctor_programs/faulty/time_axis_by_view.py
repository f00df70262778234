# expect: batch-mixing line 17
# (batch, time, feature) is turned into (time, batch, feature) by view instead of transpose.

import torch
import torch.nn.functional as F
from torch import nn


class Classifier(nn.Module):
    def __init__(self, features=4, hidden=16):
        super().__init__()
        self.lstm = nn.LSTM(features, hidden)
        self.fc = nn.Linear(hidden, 2)

    def forward(self, x):
        batch, time, features = x.shape
        sequence = x.view(time, batch, features)
        _, (h, _) = self.lstm(sequence)
        return self.fc(h[-1])


torch.manual_seed(341)
x = torch.randn(80, 5, 4)
y = (x[:, :, 0].sum(1) > 0).long()
model = Classifier()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(10):
    for xb, yb in zip(x.split(20), y.split(20)):
        loss = F.cross_entropy(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 3 == 0:
        print(epoch, loss.item())
