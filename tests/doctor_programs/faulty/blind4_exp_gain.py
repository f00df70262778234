# expect: exploding-gradient line 10

import clew as torch
import clew.nn as nn

torch.manual_seed(0)
layers = []
for k in range(10):
    l = nn.Linear(32, 32)
    nn.init.xavier_normal_(l.weight, gain=5.0)
    layers += [l, nn.ReLU()]
net = nn.Sequential(nn.Linear(6, 32), *layers, nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for i in range(40):
    x = torch.randn(32, 6)
    loss = nn.functional.mse_loss(net(x), x[:, :1])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 10 == 0:
        print(i, loss.item())
