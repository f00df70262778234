# expect: param-not-in-optimizer line 11
# Counting the parameters used up the generator, the optimizer gets an empty list.

import torch
from torch import nn

torch.manual_seed(607)
model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
params = model.parameters()
print("trainable parameters:", sum(p.numel() for p in params))
optimizer = torch.optim.Adam(params, lr=1e-3)

x = torch.randn(50, 4)
y = x.sum(1, keepdim=True)
for epoch in range(5):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())
