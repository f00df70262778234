# expect: exploding-gradient line 15, 21

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class RNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.wx = nn.Linear(3, 16)
        self.wh = nn.Linear(16, 16, bias=False)
        nn.init.normal_(self.wh.weight, std=1.0)
        self.out = nn.Linear(16, 1)

    def forward(self, x):
        h = torch.zeros(x.size(0), 16)
        for t in range(x.size(1)):
            h = self.wx(x[:, t]) + self.wh(h)
        return self.out(h)


net = RNN()
opt = torch.optim.SGD(net.parameters(), lr=1e-4)
for i in range(10):
    x = torch.randn(16, 20, 3)
    loss = F.mse_loss(net(x), x.sum((1, 2), keepdim=True)[:, 0])
    opt.zero_grad()
    loss.backward()
    opt.step()
