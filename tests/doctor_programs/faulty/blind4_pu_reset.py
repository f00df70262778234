# expect: param-unused line 12, 17

import clew as torch
import clew.nn as nn


class Encoder(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.attn_q = nn.Linear(d, d)
        self.attn_k = nn.Linear(d, d)
        self.attn_v = nn.Linear(d, d)
        self.ff = nn.Linear(d, 1)
        self.d = d

    def forward(self, x):
        q, k, v = self.attn_q(x), self.attn_k(x), self.attn_k(x)
        w = torch.softmax(q @ k.transpose(-2, -1) / self.d**0.5, -1)
        return self.ff((w @ v).mean(1))


torch.manual_seed(0)
enc = Encoder(16)
opt = torch.optim.AdamW(enc.parameters(), lr=3e-3)
for step in range(60):
    x = torch.randn(16, 5, 16)
    y = x[:, :, 0].max(1, keepdim=True).values
    loss = nn.functional.mse_loss(enc(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 0:
        print(step, loss.item())
