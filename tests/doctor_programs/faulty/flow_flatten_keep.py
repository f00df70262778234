# expect: batch-mixing line 14

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(6, 16)
        self.o = nn.Linear(16, 2)

    def forward(self, x):
        x = x.view(12, x.size(0), 6)
        out, h = self.rnn(x)  # noqa: RUF059
        return self.o(h[-1])


torch.manual_seed(0)
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for i in range(40):
    x = torch.randn(20, 12, 6)
    y = (x[:, :, 0].mean(1) > 0).long()
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
