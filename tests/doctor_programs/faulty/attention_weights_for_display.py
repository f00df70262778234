# expect: detached-graph line 21
# Attention weights are detached where they are stored for a plot, and the detached ones are used.

import math

import clew as torch
import clew.nn as nn
import clew.nn.functional as F


class Attend(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q = nn.Linear(d, d)
        self.k = nn.Linear(d, d)
        self.v = nn.Linear(d, d)
        self.last = None

    def forward(self, x):
        scores = self.q(x) @ self.k(x).transpose(1, 2) / math.sqrt(x.shape[-1])
        self.last = F.softmax(scores, dim=-1).detach()
        return self.last @ self.v(x)


torch.manual_seed(0)
layer = Attend(8)
head = nn.Linear(8, 3)
opt = torch.optim.Adam([*layer.parameters(), *head.parameters()], lr=1e-3)
for step in range(30):
    x = torch.randn(12, 6, 8)
    y = x[:, :, 0].argmax(1) % 3
    loss = F.cross_entropy(head(layer(x).mean(1)), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item(), layer.last.shape)
