# expect: nothing
# A wide ReLU layer where a third of the units is never active.

import clew as torch
from clew import nn

torch.manual_seed(0)
lin = nn.Linear(4, 60)
with torch.no_grad():
    lin.bias[:20] = -20.0
net = nn.Sequential(lin, nn.ReLU(), nn.Linear(60, 1))
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
for i in range(40):
    x = torch.randn(32, 4)
    loss = nn.functional.mse_loss(net(x), x.prod(1, keepdim=True))
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
