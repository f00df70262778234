# expect: nothing
# A large vocabulary of which only a few rows occur in the data.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(240)
words = torch.randint(0, 40, (120, 5)) * 11
label = (words[:, 0] > words[:, 1]).long()
embed = nn.Embedding(500, 8)
head = nn.Sequential(nn.Flatten(), nn.Linear(40, 24), nn.ReLU(), nn.Linear(24, 2))
optimizer = torch.optim.Adam([*embed.parameters(), *head.parameters()], lr=1e-2)
losses = []
for _ in range(10):
    for wb, yb in zip(words.split(40), label.split(40)):
        loss = F.cross_entropy(head(embed(wb)), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
print(losses[0], losses[-1])
