# expect: nothing
# Masked multiple-instance pooling by scatter-add: rows of one bag depend on one another on
# purpose.

import torch
from torch import nn

torch.manual_seed(0)
enc, att, out = nn.Linear(5, 12), nn.Linear(12, 1), nn.Linear(12, 1)
opt = torch.optim.Adam([p for m in (enc, att, out) for p in m.parameters()], 5e-3)
for it in range(20):
    bag = torch.arange(8).repeat_interleave(4)
    x = torch.randn(32, 5)
    y = torch.zeros(8).index_add_(0, bag, x[:, 0]).gt(0).float()
    h = torch.tanh(enc(x))
    e = att(h).exp()
    z = torch.zeros(8, 1).index_add(0, bag, e)
    w = e / z[bag]
    p = torch.zeros(8, 12).index_add(0, bag, w * h)
    l = nn.functional.binary_cross_entropy_with_logits(out(p).squeeze(1), y)
    opt.zero_grad()
    l.backward()
    opt.step()
