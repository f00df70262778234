# expect: nothing
# ReZero: residual gains and the output layer start at zero on purpose.

import torch
import torch.nn.functional as F
from torch import nn


class ReZeroBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc = nn.Linear(dim, dim)
        self.gain = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        return x + self.gain * F.relu(self.fc(x))


torch.manual_seed(271)
head = nn.Linear(24, 2)
nn.init.zeros_(head.weight)
nn.init.zeros_(head.bias)
model = nn.Sequential(nn.Linear(6, 24), *[ReZeroBlock(24) for _ in range(4)], head)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
x = torch.randn(120, 6)
y = (x[:, 0] * x[:, 1] > 0).long()
losses = []
for _ in range(60):
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
