# expect: nothing
# sparse=True embeddings with SGD: gradients are sparse tensors.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(722)
table = nn.Embedding(100, 6, sparse=True)
head = nn.Linear(6, 2)
sparse_opt = torch.optim.SGD(table.parameters(), lr=2.0)
dense_opt = torch.optim.Adam(head.parameters(), lr=1e-2)
words = torch.randint(0, 100, (160, 4))
label = (words[:, 0] >= 50).long()
losses = []
for _ in range(12):
    for wb, yb in zip(words.split(40), label.split(40)):
        loss = F.cross_entropy(head(table(wb)[:, 0]), yb)
        sparse_opt.zero_grad()
        dense_opt.zero_grad()
        loss.backward()
        sparse_opt.step()
        dense_opt.step()
        losses.append(loss.item())
print(losses[0], losses[-1])
