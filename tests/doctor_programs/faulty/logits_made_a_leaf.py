# expect: detached-graph line 17
# The logits are detached and marked as a new leaf, backward stops there.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(605)
encoder = nn.GRU(4, 16, batch_first=True)
head = nn.Linear(16, 3)
optimizer = torch.optim.Adam([*encoder.parameters(), *head.parameters()], lr=1e-2)
x = torch.randn(60, 5, 4)
y = x[:, -1, :3].argmax(1)
for step in range(12):
    _, h = encoder(x)
    logits = head(h[-1])
    logits = logits.detach().requires_grad_(True)
    loss = F.cross_entropy(logits, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 4 == 0:
        print(step, loss.item())
