# expect: bad-init line 10
# Every weight of the network starts with the same constant.

import clew as torch
from clew import nn

torch.manual_seed(0)
mlp = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1))
for name, p in mlp.named_parameters():
    nn.init.constant_(p, 0.1)
opt = torch.optim.Adam(mlp.parameters(), lr=5e-3)
x = torch.randn(128, 4)
y = x[:, :1] * x[:, 1:2]
for i in range(30):
    opt.zero_grad()
    loss = (mlp(x) - y).pow(2).mean()
    loss.backward()
    opt.step()
print(loss.item())
