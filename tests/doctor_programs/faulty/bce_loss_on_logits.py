# expect: loss-activation-mismatch line 15, 22, 27
# BCELoss wants probabilities, the network returns raw logits.

import torch
from torch import nn


class SpamFilter(nn.Module):
    def __init__(self, words=30):
        super().__init__()
        self.fc1 = nn.Linear(words, 16)
        self.fc2 = nn.Linear(16, 1)

    def forward(self, counts):
        return self.fc2(torch.relu(self.fc1(counts)))


torch.manual_seed(190)
counts = torch.poisson(torch.rand(80, 30))
spam = (counts[:, :5].sum(1, keepdim=True) > 3).float()
model = SpamFilter()
criterion = nn.BCELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(5):
    for xb, yb in zip(counts.split(20), spam.split(20)):
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
