# expect: train-eval-mode line 19

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(90, 8)
y = x[:, :3].argmax(1)


class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(8, 32)
        self.b = nn.Linear(32, 3)

    def forward(self, x):
        return self.b(F.dropout(torch.relu(self.a(x)), 0.5))


m = M()
opt = torch.optim.Adam(m.parameters(), lr=0.01)
for i in range(20):
    m.train()
    opt.zero_grad()
    F.cross_entropy(m(x), y).backward()
    opt.step()
    m.eval()
    with torch.no_grad():
        acc = (m(x).argmax(1) == y).float().mean().item()
