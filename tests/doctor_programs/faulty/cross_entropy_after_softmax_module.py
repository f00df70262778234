# expect: loss-activation-mismatch line 19, 30
# The exported head wraps the classifier with Softmax, training goes through the wrapper.

import torch
from torch import nn


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(1, 8, 3, padding=1)
        self.fc = nn.Linear(8, 4)

    def forward(self, x):
        return self.fc(torch.relu(self.conv(x)).mean(dim=2))


def with_probabilities(model):
    return nn.Sequential(model, nn.Softmax(dim=1))


torch.manual_seed(916)
labels = torch.randint(0, 4, (96,))
signal = torch.randn(96, 1, 16) * (1 + labels.view(-1, 1, 1))
model = with_probabilities(Backbone())
criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(8):
    for xb, yb in zip(signal.split(24), labels.split(24)):
        loss = criterion(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
