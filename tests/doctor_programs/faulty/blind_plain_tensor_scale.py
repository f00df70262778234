# expect: param-not-in-optimizer line 12, 20
# The temperature is a plain tensor attribute with requires_grad.

import torch
from torch import nn


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(6, 4)
        self.temperature = torch.ones(1, requires_grad=True)

    def forward(self, x):
        return self.proj(x) / self.temperature


torch.manual_seed(0)
head = Head()
opt = torch.optim.Adam(head.parameters(), lr=1e-2)
x = torch.randn(60, 6)
y = x[:, :4].argmax(1)
for _ in range(20):
    opt.zero_grad()
    nn.functional.cross_entropy(head(x), y).backward()
    opt.step()
print(head.temperature)
