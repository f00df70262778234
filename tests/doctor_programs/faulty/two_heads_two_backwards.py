# expect: backward-twice line 14, 19
# Two heads share a trunk whose output is computed once; each loss has its own backward.

import clew as torch
import clew.nn as nn

torch.manual_seed(0)
trunk = nn.Sequential(nn.Linear(6, 16), nn.Tanh())
age, sex = nn.Linear(16, 1), nn.Linear(16, 2)
opt = torch.optim.Adam([*trunk.parameters(), *age.parameters(), *sex.parameters()], lr=1e-3)

for i in range(5):
    x = torch.randn(10, 6)
    h = trunk(x)
    l1 = nn.functional.mse_loss(age(h), x[:, :1])
    l2 = nn.functional.cross_entropy(sex(h), (x[:, 1] > 0).long())
    opt.zero_grad()
    l1.backward()
    l2.backward()
    opt.step()
