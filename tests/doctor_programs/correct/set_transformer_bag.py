# expect: nothing
# The rows of one bag attend to each other: the bag is the sample, there is no batch.

import torch
import torch.nn.functional as F
from torch import nn


class Bag(nn.Module):
    def __init__(self, dim=4):
        super().__init__()
        self.embed = nn.Linear(dim, 16)
        self.q, self.k, self.v = nn.Linear(16, 16), nn.Linear(16, 16), nn.Linear(16, 16)
        self.out = nn.Linear(16, 2)

    def forward(self, rows):
        h = torch.relu(self.embed(rows))
        weights = F.softmax(self.q(h) @ self.k(h).t() / 4, dim=1)
        h = h + weights @ self.v(h)
        return self.out(h.mean(dim=0))


torch.manual_seed(1013)
bags = [torch.randn(int(n), 4) for n in torch.randint(3, 8, (30,))]
labels = torch.tensor([int(bag[:, 0].max() > 1.2) for bag in bags])
model = Bag()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
totals = []
for _ in range(8):
    total = 0.0
    for bag, label in zip(bags, labels):
        loss = F.cross_entropy(model(bag), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    totals.append(total)
print(totals[0], totals[-1])
