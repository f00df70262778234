# expect: nothing
# Checkpointing a block with dropout: the random state is restored on recomputation.

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)
block = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 8))
head = nn.Linear(8, 1)
opt = torch.optim.Adam([*block.parameters(), *head.parameters()], lr=2e-3)
for i in range(20):
    x = torch.randn(16, 8)
    h = checkpoint(block, x, use_reentrant=False)
    h = x + checkpoint(block, h, use_reentrant=False)
    loss = nn.functional.mse_loss(head(h), x[:, :1] * 2)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
