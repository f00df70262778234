# expect: detached-graph line 19

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(3, 8)
        self.out = nn.Linear(8, 1)

    def forward(self, x):
        h = torch.zeros(x.size(0), 8)
        for t in range(x.size(1)):
            h = self.cell(x[:, t], h).detach()
        return self.out(h)


net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for i in range(20):
    x = torch.randn(16, 5, 3)
    loss = F.mse_loss(net(x), x.sum((1, 2)).unsqueeze(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
