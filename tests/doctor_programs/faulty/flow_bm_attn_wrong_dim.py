# expect: batch-mixing line 15

import torch
from torch import nn


class Attn(nn.Module):
    def __init__(self, d=16):
        super().__init__()
        self.qkv = nn.Linear(d, 3 * d)
        self.o = nn.Linear(d, 2)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        a = (q @ k.transpose(1, 2) / 4).softmax(0)
        return self.o((a @ v).mean(1))


torch.manual_seed(0)
m = Attn()
opt = torch.optim.Adam(m.parameters(), lr=1e-3)
for i in range(30):
    x = torch.randn(12, 9, 16)
    y = (x[:, 0, 0] > 0).long()
    loss = nn.functional.cross_entropy(m(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
