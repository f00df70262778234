# expect: nothing

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 2))
acts, gnorm = {}, []
net[0].register_forward_hook(lambda m, i, o: acts.__setitem__("l0", o.detach()))
net[2].weight.register_hook(lambda g: gnorm.append(g.norm().item()))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(60):
    x = torch.randn(32, 6)
    loss = nn.functional.cross_entropy(net(x), (x[:, 0] > 0).long())
    opt.zero_grad()
    loss.backward()
    opt.step()
print(acts["l0"].mean(), gnorm[0], gnorm[-1])
