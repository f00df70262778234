# expect: nothing

import clew as torch
import clew.nn as nn
import clew.nn.functional as F
import math


class MHA(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.qkv = nn.Linear(d, 3 * d)
        self.o = nn.Linear(d, d)

    def forward(self, x):
        B, T, D = x.shape
        q, k, v = self.qkv(x).chunk(3, -1)
        q, k, v = (t.view(B, T, self.h, D // self.h).transpose(1, 2) for t in (q, k, v))
        a = F.softmax(q @ k.transpose(-2, -1) / math.sqrt(D // self.h), dim=-1)
        return self.o((a @ v).transpose(1, 2).reshape(B, T, D))


class Block(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.a = MHA(d, h)
        self.f = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))

    def forward(self, x):
        x = x + self.a(self.n1(x))
        return x + self.f(self.n2(x))


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 32), Block(32, 4), Block(32, 4), nn.Linear(32, 1))
opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
for i in range(50):
    x = torch.randn(16, 6, 4)
    y = x[..., :1] - x[..., :1].mean(1, keepdim=True)
    loss = F.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 10 == 0:
        print(i, loss.item())
