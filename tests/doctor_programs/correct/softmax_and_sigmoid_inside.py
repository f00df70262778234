# expect: nothing
# A gated mixture uses softmax and sigmoid inside the network, the last layer gives logits.

import torch
import torch.nn.functional as F
from torch import nn


class GatedMixture(nn.Module):
    def __init__(self):
        super().__init__()
        self.route, self.gate = nn.Linear(6, 4), nn.Linear(6, 16)
        self.value, self.mix = nn.Linear(6, 16), nn.Linear(16, 4)
        self.out = nn.Linear(4, 1)

    def forward(self, x):
        h = torch.sigmoid(self.gate(x)) * self.value(x)
        return self.out(F.softmax(self.route(x), dim=1) * self.mix(h))


torch.manual_seed(519)
model = GatedMixture()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
x = torch.randn(150, 6)
y = (x[:, :1] * x[:, 1:2] > 0).float()
losses = []
for _ in range(60):
    loss = F.binary_cross_entropy_with_logits(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
