# expect: nothing
# A static loss scale by hand together with accumulation.

import clew as torch
from clew import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.05)
SCALE, K = 100.0, 4
for i in range(40):
    x = torch.randn(8, 6)
    loss = nn.functional.mse_loss(net(x), x[:, :1])
    (loss * SCALE / K).backward()
    if (i + 1) % K == 0:
        for p in net.parameters():
            p.grad.div_(SCALE)
        opt.step()
        opt.zero_grad()
print(loss.item())
