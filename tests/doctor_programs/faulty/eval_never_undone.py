# expect: train-eval-mode line 24
# validate() switches to eval mode and nothing ever switches back to train mode.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(140)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(10, 48)
        self.bn = nn.BatchNorm1d(48)
        self.drop = nn.Dropout(0.4)
        self.fc2 = nn.Linear(48, 3)

    def forward(self, x):
        return self.fc2(self.drop(F.relu(self.bn(self.fc1(x)))))


def validate(model, x, y):
    model.eval()
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


x = torch.randn(260, 10)
y = x[:, :3].argmax(1)
x_train, y_train, x_val, y_val = x[:200], y[:200], x[200:], y[200:]
model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
model.train()
for epoch in range(6):
    for xb, yb in zip(x_train.split(40), y_train.split(40)):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(xb), yb)
        loss.backward()
        optimizer.step()
    print(epoch, loss.item(), "val acc", validate(model, x_val, y_val))
