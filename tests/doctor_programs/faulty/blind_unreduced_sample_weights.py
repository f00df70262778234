# expect: non-scalar-backward line 14, 15
# Sample weights are applied to a loss with reduction none and the mean is forgotten.

import clew as torch
from clew import nn

torch.manual_seed(1)
net = nn.Sequential(nn.Linear(3, 8), nn.Mish(), nn.Linear(8, 1))
opt = torch.optim.Adamax(net.parameters())
x, y, weight = torch.randn(20, 3), torch.randn(20, 1), torch.rand(20, 1)
criterion = nn.HuberLoss(reduction="none")
for _ in range(5):
    opt.zero_grad()
    loss = weight * criterion(net(x), y)
    loss.backward()
    opt.step()
