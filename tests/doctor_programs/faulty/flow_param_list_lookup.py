# expect: param-not-in-optimizer line 11, 20

import torch
from torch import nn


class Multi(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(6, 16)
        self.heads = {"a": nn.Linear(16, 1), "b": nn.Linear(16, 1)}

    def forward(self, x):
        h = torch.relu(self.body(x))
        return {k: f(h) for k, f in self.heads.items()}


torch.manual_seed(0)
m = Multi()
opt = torch.optim.Adam(m.parameters(), lr=1e-3)
for i in range(30):
    x = torch.randn(16, 6)
    out = m(x)
    loss = (out["a"] - x[:, :1]).pow(2).mean() + (out["b"] + x[:, :1]).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
