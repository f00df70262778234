# expect: nothing

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(90, 8)
y = x[:, :3].argmax(1)
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))

opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
norms = []
for i in range(30):
    loss = F.cross_entropy(net(x), y)
    opt.zero_grad(set_to_none=False)
    loss.backward()
    norms.append(sum(p.grad.norm().item() ** 2 for p in net.parameters()) ** 0.5)
    opt.step()
