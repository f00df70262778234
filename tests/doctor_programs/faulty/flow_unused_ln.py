# expect: param-unused line 11, 16

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.attn = nn.MultiheadAttention(d, 2, batch_first=True)
        self.norm1, self.norm2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.ff = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))

    def forward(self, x):
        x = self.norm1(x + self.attn(x, x, x)[0])
        return self.norm1(x + self.ff(x))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(5, 16)
        self.b = Block(16)
        self.o = nn.Linear(16, 2)

    def forward(self, x):
        return self.o(self.b(self.inp(x)).mean(1))


torch.manual_seed(0)
net = Net()
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
for i in range(25):
    x = torch.randn(16, 7, 5)
    y = (x[:, :, 0].sum(1) > 0).long()
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
