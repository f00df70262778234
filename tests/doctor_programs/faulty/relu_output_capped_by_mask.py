# expect: inplace-saved-tensor line 18
# Large activations are capped by masked assignment into ReLU's output.
# saved: line 17

import torch
import torch.nn.functional as F
from torch import nn


class Capped(nn.Module):
    def __init__(self, dim=16, cap=1.0):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(6, dim), nn.Linear(dim, 2)
        self.cap = cap

    def forward(self, x):
        h = F.relu(self.fc1(x))
        h[h > self.cap] = self.cap
        return self.fc2(h)


torch.manual_seed(609)
model = Capped()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = 2 * torch.randn(60, 6)
y = (x[:, 0] > x[:, 1]).long()
for epoch in range(5):
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())
