# expect: nothing
# Two terms are back-propagated separately on purpose, to save memory.

import clew as torch
from clew import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 3))
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
for i in range(30):
    x = torch.randn(16, 6)
    u = torch.randn(32, 6)
    opt.zero_grad()
    sup = nn.functional.cross_entropy(net(x), x[:, :3].argmax(1))
    sup.backward()
    with torch.no_grad():
        soft = net(u).softmax(1)
    cons = nn.functional.kl_div(
        net(u + 0.1 * torch.randn_like(u)).log_softmax(1), soft, reduction="batchmean"
    )
    (0.5 * cons).backward()
    opt.step()
print(sup.item(), cons.item())
