# expect: nothing
# Binary codes with the straight-through trick: hard value forward, soft gradient backward.

import torch
import torch.nn.functional as F
from torch import nn


class BinaryAutoEncoder(nn.Module):
    def __init__(self, dim=10, code=8):
        super().__init__()
        self.enc = nn.Linear(dim, code)
        self.dec = nn.Linear(code, dim)

    def forward(self, x):
        soft = torch.sigmoid(self.enc(x))
        hard = (soft > 0.5).float()
        code = hard + soft - soft.detach()
        return self.dec(code)


torch.manual_seed(222)
data = torch.randn(150, 3) @ torch.randn(3, 10)
model = BinaryAutoEncoder()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
losses = []
for _ in range(15):
    for batch in data.split(50):
        loss = F.mse_loss(model(batch), batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
print("reconstruction", losses[0], losses[-1])
