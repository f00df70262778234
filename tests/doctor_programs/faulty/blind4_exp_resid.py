# expect: exploding-gradient line 14

import torch
import torch.nn as nn


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.a = nn.Linear(d, d)
        self.b = nn.Linear(d, d)

    def forward(self, x):
        return x + 10.0 * self.b(torch.relu(self.a(x)))


class Net(nn.Module):
    def __init__(self, d=32, n=8):
        super().__init__()
        self.stem = nn.Linear(6, d)
        self.blocks = nn.Sequential(*[Block(d) for _ in range(n)])
        self.head = nn.Linear(d, 1)

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)))


def main():
    torch.manual_seed(0)
    net = Net()
    opt = torch.optim.Adam(net.parameters(), lr=1e-4)
    for k in range(60):
        x = torch.randn(32, 6)
        loss = nn.functional.mse_loss(net(x), x.sum(1, keepdim=True))
        opt.zero_grad()
        loss.backward()
        opt.step()
        if k % 10 == 0:
            print(k, loss.item())


main()
