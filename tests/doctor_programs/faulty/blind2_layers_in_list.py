# expect: param-not-in-optimizer line 11, 23

import torch
import torch.nn as nn


class DeepNet(nn.Module):
    def __init__(self, d, depth):
        super().__init__()
        self.inp = nn.Linear(8, d)
        self.blocks = [nn.Linear(d, d) for _ in range(depth)]
        self.out = nn.Linear(d, 2)

    def forward(self, x):
        x = torch.relu(self.inp(x))
        for b in self.blocks:
            x = x + torch.relu(b(x))
        return self.out(x)


torch.manual_seed(0)
model = DeepNet(24, 3)
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
crit = nn.CrossEntropyLoss()
for ep in range(30):
    x = torch.randn(64, 8)
    y = (x.sum(1) > 0).long()
    loss = crit(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
