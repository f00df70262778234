# expect: train-eval-mode line 35
# Validation under no_grad but in train mode: it even updates BatchNorm's statistics.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(338)
x = torch.randn(300, 6) * torch.tensor([1.0, 2.0, 0.5, 1.0, 3.0, 1.0])
y = (x[:, 0] + x[:, 1] > 0).long()
train_x, train_y, valid_x, valid_y = x[:220], y[:220], x[220:], y[220:]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(6)
        self.fc1, self.fc2 = nn.Linear(6, 24), nn.Linear(24, 2)
        self.drop = nn.Dropout(0.3)

    def forward(self, x):
        return self.fc2(self.drop(F.relu(self.fc1(self.norm(x)))))


net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(6):
    net.train()
    for xb, yb in zip(train_x.split(44), train_y.split(44)):
        loss = F.cross_entropy(net(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        logits = net(valid_x)
        valid_loss = F.cross_entropy(logits, valid_y).item()
    print(f"epoch {epoch} train {loss.item():.4f} valid {valid_loss:.4f}")
