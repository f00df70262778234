# expect: inplace-saved-tensor line 23
# The imported gate multiplies its sigmoid in place.
# in: shared_blocks.py
# saved: line 22

import torch
from shared_blocks import GatedUnit
from torch import nn

torch.manual_seed(801)
x = torch.randn(60, 5)
y = x.sum(dim=1, keepdim=True).tanh()
model = nn.Sequential(nn.Linear(5, 16), GatedUnit(16), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(5):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())
