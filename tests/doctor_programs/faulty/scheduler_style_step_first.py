# expect: step-before-backward line 23
# The optimizer steps with freshly cleared gradients; backward comes after.

import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(3, 12, batch_first=True)
        self.head = nn.Linear(12, 1)

    def forward(self, x):
        h, _ = self.rnn(x)
        return self.head(h[:, -1])


def one_batch(net, opt, x, y):
    pred = net(x)
    loss = nn.functional.smooth_l1_loss(pred, y)
    opt.zero_grad()
    opt.step()
    loss.backward()
    return loss


torch.manual_seed(0)
net = Net()
opt = torch.optim.Adam(net.parameters(), 2e-3)
for i in range(20):
    x = torch.randn(16, 7, 3)
    y = x.sum(dim=(1, 2)).unsqueeze(1)
    loss = one_batch(net, opt, x, y)
    print(i, loss.item())
