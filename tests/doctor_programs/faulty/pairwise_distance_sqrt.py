# expect: nan-origin line 10
# sqrt of the zero self-distances has an infinite derivative; backward gives NaN.

import torch
from torch import nn


def pairwise_distance(z):
    squared = (z.unsqueeze(0) - z.unsqueeze(1)).pow(2).sum(dim=-1)
    return torch.sqrt(squared)


def contrastive_loss(z, labels, margin=1.0):
    distance = pairwise_distance(z)
    same = (labels.unsqueeze(0) == labels.unsqueeze(1)).float()
    pull = same * distance.pow(2)
    push = (1 - same) * torch.clamp(margin - distance, min=0).pow(2)
    return (pull + push).mean()


torch.manual_seed(91)
x = torch.randn(48, 7)
labels = (x[:, 0] > 0).long()
net = nn.Sequential(nn.Linear(7, 16), nn.ReLU(), nn.Linear(16, 4))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(5):
    loss = contrastive_loss(net(x), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
