# expect: nothing
# Averaged sparse gradients are tiny: SGD on an embedding table with lr=5 is fine.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(505)
table = nn.Embedding(80, 4)
optimizer = torch.optim.SGD(table.parameters(), lr=5.0)
target = torch.randn(80, 4)
losses = []
for _ in range(100):
    index = torch.randint(0, 80, (40,))
    loss = F.mse_loss(table(index), target[index])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
