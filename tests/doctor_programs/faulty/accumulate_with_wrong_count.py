# expect: accumulation-not-averaged line 16, 23, 25
# The gradients of four shards are added up by hand and used as if they were their mean.

import torch
from torch import nn

torch.manual_seed(901)
model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(160, 6)
y = x[:, :1] - x[:, 1:2]


def shard_losses(n_shards):
    for xs, ys in zip(x.chunk(n_shards), y.chunk(n_shards)):
        yield nn.functional.mse_loss(model(xs), ys)


for step in range(15):
    optimizer.zero_grad()
    value = 0.0
    for loss in shard_losses(4):
        loss.backward()
        value += loss.item() / 4
    optimizer.step()
    if step % 5 == 0:
        print(step, value)
