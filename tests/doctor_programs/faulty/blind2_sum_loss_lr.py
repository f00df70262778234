# expect: wrong-reduction line 8, 15

import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1), nn.Flatten(0))
crit = nn.MSELoss(reduction="sum")
l1 = nn.L1Loss()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
aux = nn.Linear(8, 1)
opt.add_param_group({"params": aux.parameters()})
for i in range(40):
    x = torch.randn(128, 8)
    loss = crit(net(x), x[:, 0]) + l1(aux(x).squeeze(1), x[:, 1])
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
