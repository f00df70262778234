# expect: nan-origin line 12

import clew as torch
import clew.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)


def soft_entropy(p):
    return -(p * torch.log(p)).sum(1).mean()


for i in range(20):
    x = torch.randn(32, 6) * (1 if i < 8 else 2000)
    y = x[:, :3].argmax(1)
    p = torch.softmax(net(x), 1)
    loss = nn.functional.nll_loss(torch.log(p + 1e-8), y) - 0.01 * soft_entropy(p)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(i, loss.item())
