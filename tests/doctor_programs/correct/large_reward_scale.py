# expect: nothing
# Returns are in the thousands; Adam copes.

import clew as torch
from clew import nn

torch.manual_seed(0)
v = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(v.parameters(), lr=1e-2)
for i in range(80):
    s = torch.rand(64, 4)
    ret = 1000 * s.sum(1, keepdim=True)
    loss = nn.functional.smooth_l1_loss(v(s), ret)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
