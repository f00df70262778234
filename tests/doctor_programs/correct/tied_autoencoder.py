# expect: nothing
# The decoder uses the transposed weight of the encoder.

import torch
import torch.nn.functional as F
from torch import nn


class Tied(nn.Module):
    def __init__(self, dim=12, code=4):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(code, dim) / dim**0.5)
        self.b_enc, self.b_dec = nn.Parameter(torch.zeros(code)), nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        return F.linear(F.linear(x, self.weight, self.b_enc), self.weight.t(), self.b_dec)


torch.manual_seed(425)
data = torch.randn(160, 4) @ torch.randn(4, 12)
model = Tied()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
losses = []
for _ in range(15):
    for batch in data.split(40):
        loss = F.mse_loss(model(batch), batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
print(losses[0], losses[-1])
