# expect: missing-zero-grad line 31, 32
# The imported training function never clears the gradients.
# in: shared_blocks.py

import torch
from shared_blocks import train_epoch
from torch import nn

torch.manual_seed(802)
x = torch.randn(120, 6)
y = x[:, :3].argmax(1)
batches = list(zip(x.split(30), y.split(30)))
model = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(5):
    print(epoch, train_epoch(model, batches, optimizer, nn.CrossEntropyLoss()))
