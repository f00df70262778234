# expect: vanishing-gradient line 15, 21
# A hand-made tanh recurrence with shrunken weights over 60 steps, the label set by the first.

import torch
from torch import nn

torch.manual_seed(0)


class RNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.wx = nn.Linear(2, 12)
        self.wh = nn.Linear(12, 12, bias=False)
        nn.init.normal_(self.wh.weight, std=0.05)
        self.out = nn.Linear(12, 2)

    def forward(self, x):
        h = torch.zeros(x.size(0), 12)
        for t in range(x.size(1)):
            h = torch.tanh(self.wx(x[:, t]) + self.wh(h))
        return self.out(h)


net = RNN()
opt = torch.optim.Adam(net.parameters(), 1e-3)
for _ in range(8):
    x = torch.randn(16, 60, 2)
    loss = nn.functional.cross_entropy(net(x), (x[:, 0, 0] > 0).long())
    opt.zero_grad()
    loss.backward()
    opt.step()
