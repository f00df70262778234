# expect: nothing
# Sigmoid output with BCELoss: the right pair.

import clew as torch
from clew import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1), nn.Sigmoid())
opt = torch.optim.RMSprop(net.parameters(), lr=1e-3)
crit = nn.BCELoss()
for i in range(40):
    x = torch.randn(32, 4)
    y = (x[:, :1] > 0).float()
    loss = crit(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
