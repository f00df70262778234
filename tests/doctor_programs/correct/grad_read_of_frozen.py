# expect: nothing
# A monitor reads .grad of all tensors, also of frozen ones and of inputs.

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
net[0].requires_grad_(False)
opt = torch.optim.Adam([p for p in net.parameters() if p.requires_grad], lr=1e-2)
for i in range(20):
    x = torch.randn(8, 4)
    loss = nn.functional.mse_loss(net(x), x[:, :1])
    opt.zero_grad()
    loss.backward()
    seen = {n: None if p.grad is None else p.grad.norm().item() for n, p in net.named_parameters()}
    opt.step()
print(loss.item(), seen)
