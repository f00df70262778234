# expect: loss-activation-mismatch line 15, 23, 24, 25

import torch
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(6, 1)

    def forward(self, x):
        return torch.sigmoid(self.f(x)).squeeze(1)


net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for i in range(25):
    x = torch.randn(32, 6)
    y = (x[:, 0] > 0).float()
    loss = nn.functional.binary_cross_entropy_with_logits(net(x), y, pos_weight=torch.tensor(2.0))
    opt.zero_grad()
    loss.backward()
    opt.step()
