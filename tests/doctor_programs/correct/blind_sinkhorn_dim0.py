# expect: nothing
# Sinkhorn assignment of prototypes: softmax-like normalisation over the batch on purpose, under
# no_grad.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
enc, proto = nn.Linear(8, 6), nn.Linear(6, 5, bias=False)
opt = torch.optim.SGD([*enc.parameters(), *proto.parameters()], 0.1)


@torch.no_grad()
def sinkhorn(s):
    q = (s / 0.1).exp()
    for _ in range(3):
        q = q / q.sum(0, keepdim=True)
        q = q / q.sum(1, keepdim=True)
    return q


for _ in range(15):
    x = torch.randn(32, 8)
    s1, s2 = (proto(F.normalize(enc(x + 0.1 * torch.randn_like(x)), dim=1)) for _ in range(2))
    l = (
        -(sinkhorn(s1) * F.log_softmax(s2 / 0.2, 1)).sum(1).mean()
        - (sinkhorn(s2) * F.log_softmax(s1 / 0.2, 1)).sum(1).mean()
    )
    opt.zero_grad()
    l.backward()
    opt.step()
    with torch.no_grad():
        proto.weight.copy_(F.normalize(proto.weight, dim=1))
