# expect: loss-activation-mismatch line 17, 30
# nll_loss gets probabilities from softmax, the logarithm is missing.

import torch
import torch.nn.functional as F
from torch import nn


class Digits(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(20, 32)
        self.fc2 = nn.Linear(32, 5)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        return F.softmax(self.fc2(x), dim=1)


torch.manual_seed(334)
centers = torch.randn(5, 20)
labels = torch.randint(0, 5, (150,))
x = centers[labels] + 0.7 * torch.randn(150, 20)
model = Digits()
criterion = nn.NLLLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.5)
for epoch in range(6):
    for xb, yb in zip(x.split(30), labels.split(30)):
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
