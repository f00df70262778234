# expect: nothing

import torch
from torch import nn


class GRL(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, lam):
        ctx.lam = lam
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return -ctx.lam * g, None


torch.manual_seed(0)
feat = nn.Sequential(nn.Linear(6, 24), nn.ReLU())
clf, dom = nn.Linear(24, 2), nn.Linear(24, 2)
opt = torch.optim.Adam([*feat.parameters(), *clf.parameters(), *dom.parameters()], lr=2e-3)
for s in range(100):
    xs, xt = torch.randn(32, 6), torch.randn(32, 6) + 0.5
    ys = (xs[:, 0] > 0).long()
    hs, ht = feat(xs), feat(xt)
    ld = nn.functional.cross_entropy(
        dom(GRL.apply(torch.cat([hs, ht]), 0.1)),
        torch.cat([torch.zeros(32), torch.ones(32)]).long(),
    )
    loss = nn.functional.cross_entropy(clf(hs), ys) + ld
    opt.zero_grad()
    loss.backward()
    opt.step()
    if s % 25 == 0:
        print(s, loss.item(), ld.item())
