# expect: nothing
# DANN: gradient reversal by a custom function, the schedule of lambda passed through ctx.

import torch
from torch import nn


class Rev(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, lam):
        ctx.lam = lam
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return -ctx.lam * g, None


torch.manual_seed(0)
f, c, d = nn.Sequential(nn.Linear(6, 16), nn.ReLU()), nn.Linear(16, 2), nn.Linear(16, 1)
opt = torch.optim.Adam(nn.ModuleList([f, c, d]).parameters(), 2e-3)
for it in range(25):
    s, t = torch.randn(20, 6), torch.randn(20, 6) + 0.5
    hs, ht = f(s), f(t)
    lam = it / 25
    dom = d(Rev.apply(torch.cat([hs, ht]), lam)).squeeze(1)
    l = nn.functional.cross_entropy(
        c(hs), (s[:, 0] > 0).long()
    ) + nn.functional.binary_cross_entropy_with_logits(
        dom, torch.cat([torch.zeros(20), torch.ones(20)])
    )
    opt.zero_grad()
    l.backward()
    opt.step()
