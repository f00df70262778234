# expect: nothing
# The head is replaced between tasks and added to a new optimizer.

import torch
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(5, 20), nn.ReLU())
        self.head = nn.Linear(20, 2)

    def forward(self, x):
        return self.head(self.body(x))


def fit(net, target, steps=20):
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    for _ in range(steps):
        x = torch.randn(24, 5)
        loss = nn.functional.cross_entropy(net(x), target(x))
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


net = Net()
print(fit(net, lambda x: (x[:, 0] > 0).long()))
net.head = nn.Linear(20, 4)
nn.init.zeros_(net.head.weight)
nn.init.zeros_(net.head.bias)
print(fit(net, lambda x: x[:, :4].argmax(1)))
