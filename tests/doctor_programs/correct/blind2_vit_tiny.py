# expect: nothing

import clew as torch
import clew.nn as nn


class ViT(nn.Module):
    def __init__(self, d=16, n=4):
        super().__init__()
        self.patch = nn.Conv2d(1, d, 4, stride=4)
        self.cls = nn.Parameter(torch.zeros(1, 1, d))
        self.pos = nn.Parameter(torch.randn(1, n + 1, d) * 0.02)
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.proj = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.mlp = nn.Sequential(nn.Linear(d, 32), nn.GELU(), nn.Dropout(0.1), nn.Linear(32, d))
        self.head = nn.Linear(d, 3)

    def attn(self, x):
        B, N, C = x.shape
        q, k, v = self.qkv(x).reshape(B, N, 3, 2, C // 2).permute(2, 0, 3, 1, 4)
        a = ((q @ k.transpose(-2, -1)) * (C // 2) ** -0.5).softmax(-1)
        return self.proj((a @ v).transpose(1, 2).reshape(B, N, C))

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(x.size(0), -1, -1), x], 1) + self.pos
        x = x + self.attn(self.n1(x))
        x = x + self.mlp(self.n2(x))
        return self.head(x[:, 0])


torch.manual_seed(0)
m = ViT()
opt = torch.optim.AdamW(m.parameters(), lr=3e-3, weight_decay=0.05)
for i in range(25):
    y = torch.randint(0, 3, (24,))
    x = torch.randn(24, 1, 8, 8) + y.view(-1, 1, 1, 1)
    loss = nn.functional.cross_entropy(m(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
m.eval()
with torch.no_grad():
    print(loss.item(), m(torch.randn(5, 1, 8, 8)).shape)
