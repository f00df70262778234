# expect: bad-learning-rate line 8, 24

import argparse
import torch
import torch.nn as nn

p = argparse.ArgumentParser()
p.add_argument("--lr", type=float, default=1e-8)
p.add_argument("--epochs", type=int, default=12)
args = p.parse_args()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.seq = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3))

    def forward(self, x):
        return self.seq(x)


torch.manual_seed(0)
net = Net()
optim = torch.optim.Adam(net.parameters(), lr=args.lr)
X = torch.randn(320, 6)
Y = X[:, :3].argmax(1)
for e in range(args.epochs):
    tot = 0.0
    for i in torch.randperm(320).split(32):
        optim.zero_grad()
        loss = nn.functional.cross_entropy(net(X[i]), Y[i])
        loss.backward()
        optim.step()
        tot += loss.item()
    print(e, tot / 10)
