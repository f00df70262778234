# expect: nothing
# Gradient reversal with two losses.

import torch
from torch import nn
from torch.autograd import Function


class Reverse(Function):
    @staticmethod
    def forward(ctx, x, s):
        ctx.s = s
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return -ctx.s * g, None


torch.manual_seed(0)
feat = nn.Sequential(nn.Linear(5, 20), nn.ReLU())
label, domain = nn.Linear(20, 2), nn.Linear(20, 2)
opt = torch.optim.SGD([*feat.parameters(), *label.parameters(), *domain.parameters()], lr=0.05)
for i in range(30):
    src, tgt = torch.randn(16, 5), torch.randn(16, 5) + 0.5
    fs, ft = feat(src), feat(tgt)
    lc = nn.functional.cross_entropy(label(fs), (src[:, 0] > 0).long())
    dom = torch.cat([Reverse.apply(fs, 0.1), Reverse.apply(ft, 0.1)])
    ld = nn.functional.cross_entropy(domain(dom), torch.arange(2).repeat_interleave(16))
    opt.zero_grad()
    (lc + ld).backward()
    opt.step()
print(lc.item(), ld.item())
