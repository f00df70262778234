"""moving averages of parameters, stored and restored"""

import torch
from torch_ema import ExponentialMovingAverage

torch.manual_seed(0)
net = torch.nn.Linear(3, 2)
ema = ExponentialMovingAverage(net.parameters(), decay=0.9)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(5):
    loss = net(torch.randn(4, 3)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    ema.update()
with ema.average_parameters():
    print(f"{net.weight.sum().item():.5f}")
print(f"{net.weight.sum().item():.5f}")
