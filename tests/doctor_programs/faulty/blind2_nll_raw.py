# expect: loss-activation-mismatch line 16, 26

import clew as torch
import clew.nn as nn
import clew.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Conv2d(1, 6, 3)
        self.f = nn.Linear(6 * 9, 4)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.c(x)), 2)
        return self.f(x.view(x.size(0), -1))


torch.manual_seed(0)
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for i in range(20):
    y = torch.randint(0, 4, (16,))
    x = torch.randn(16, 1, 8, 8) + y.view(-1, 1, 1, 1)
    opt.zero_grad()
    loss = F.nll_loss(net(x), y)
    loss.backward()
    opt.step()
print(loss.item())
