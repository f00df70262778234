"""moving averages of a model that is trained"""

import torch
from ema_pytorch import EMA

torch.manual_seed(0)
net = torch.nn.Linear(3, 2)
ema = EMA(net, beta=0.9, update_after_step=1, update_every=1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(5):
    loss = net(torch.randn(4, 3)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    ema.update()
print(f"{ema(torch.ones(1, 3)).sum().item():.5f}")
