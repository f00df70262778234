# expect: bad-init line 13

import torch
from torch import nn


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(8, 32)
        self.fc2 = nn.Linear(32, 3)
        for p in self.parameters():
            nn.init.zeros_(p)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))


torch.manual_seed(0)
m = MLP()
opt = torch.optim.SGD(m.parameters(), lr=0.1)
X = torch.randn(120, 8)
y = X[:, :3].argmax(1)
for ep in range(40):
    opt.zero_grad()
    loss = nn.functional.cross_entropy(m(X), y)
    loss.backward()
    opt.step()
print(loss.item())
