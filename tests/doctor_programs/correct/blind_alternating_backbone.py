# expect: nothing
# A frozen backbone is unfrozen and re-frozen between phases; each phase makes its optimizer.

import torch
from torch import nn

torch.manual_seed(0)
net = nn.ModuleDict(
    {"backbone": nn.Sequential(nn.Linear(6, 16), nn.ReLU()), "head": nn.Linear(16, 2)}
)
x = torch.randn(60, 6)
y = (x[:, 0] > 0).long()
for phase in range(4):
    net["backbone"].requires_grad_(phase % 2 == 1)
    opt = torch.optim.Adam([p for p in net.parameters() if p.requires_grad], 1e-3)
    for i in range(0, 60, 15):
        opt.zero_grad()
        nn.functional.cross_entropy(
            net["head"](net["backbone"](x[i : i + 15])), y[i : i + 15]
        ).backward()
        opt.step()
