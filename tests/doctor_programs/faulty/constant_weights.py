# expect: bad-init line 15
# All weights get the same constant, the hidden units stay copies of each other.

import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self, n_in, hidden, classes):
        super().__init__()
        self.hidden = nn.Linear(n_in, hidden)
        self.out = nn.Linear(hidden, classes)
        for layer in (self.hidden, self.out):
            nn.init.constant_(layer.weight, 0.1)
            nn.init.constant_(layer.bias, 0.0)

    def forward(self, x):
        return self.out(torch.sigmoid(self.hidden(x)))


def main():
    torch.manual_seed(115)
    x = torch.randn(120, 4)
    y = (x[:, 0] > 0).long() * 2 + (x[:, 1] > 0).long()
    net = Net(4, 24, 4)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.02)
    for step in range(30):
        loss = F.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            distinct = len({round(v, 5) for v in net.hidden.weight[:, 0].tolist()})
            print(step, loss.item(), "distinct rows", distinct)


main()
