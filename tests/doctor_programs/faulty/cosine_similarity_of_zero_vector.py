# expect: nan-origin line 9
# A padded all-zero row has norm zero, dividing by it gives NaN.

import torch
from torch import nn


def cosine(a, b):
    return (a * b).sum(dim=1) / (a.norm(dim=1) * b.norm(dim=1))


torch.manual_seed(911)
embed = nn.Embedding(20, 8, padding_idx=0)
project = nn.Linear(8, 8, bias=False)
optimizer = torch.optim.Adam([*embed.parameters(), *project.parameters()], lr=1e-2)
left = torch.randint(1, 20, (60,))
right = torch.randint(1, 20, (60,))
right[47] = 0
score = ((left + right) % 3 - 1).float()
for epoch in range(2):
    for lb, rb, sb in zip(left.split(20), right.split(20), score.split(20)):
        loss = (cosine(project(embed(lb)), project(embed(rb))) - sb).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(epoch, loss.item())
