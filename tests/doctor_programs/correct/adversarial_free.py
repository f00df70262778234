# expect: nothing
# "Free" adversarial training: the perturbation uses the gradient of the same backward.

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 2))
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for i in range(10):
    x = torch.randn(16, 6)
    y = (x[:, 0] > 0).long()
    delta = torch.zeros_like(x, requires_grad=True)
    for _ in range(3):
        loss = nn.functional.cross_entropy(net(x + delta), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        with torch.no_grad():
            delta += 0.05 * delta.grad.sign()
            delta.clamp_(-0.1, 0.1)
            delta.grad.zero_()
print(loss.item())
