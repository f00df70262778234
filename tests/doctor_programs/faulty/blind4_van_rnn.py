# expect: vanishing-gradient line 11, 14, 18, 20

import clew as torch
import clew.nn as nn


class DeepTanh(nn.Module):
    def __init__(self, d=16, depth=14):
        super().__init__()
        self.inp = nn.Linear(8, d)
        self.hid = nn.ModuleList([nn.Linear(d, d) for _ in range(depth)])
        self.out = nn.Linear(d, 1)
        for l in self.hid:
            nn.init.normal_(l.weight, std=0.05)
            nn.init.zeros_(l.bias)

    def forward(self, x):
        x = torch.tanh(self.inp(x))
        for l in self.hid:
            x = torch.tanh(l(x))
        return self.out(x)


torch.manual_seed(0)
net = DeepTanh()
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for i in range(60):
    x = torch.randn(32, 8)
    y = x[:, :1] + x[:, 1:2]
    loss = nn.functional.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 20 == 0:
        print(i, loss.item())
