# expect: train-eval-mode line 37

import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Conv2d(1, 8, 3, padding=1)
        self.bn = nn.BatchNorm2d(8)
        self.drop = nn.Dropout(0.5)
        self.fc = nn.Linear(8 * 16, 2)

    def forward(self, x):
        x = torch.max_pool2d(torch.relu(self.bn(self.c(x))), 2)
        return self.fc(self.drop(x.flatten(1)))


class Trainer:
    def __init__(self, net):
        self.net = net
        self.opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)

    def train(self, batches):
        self.net.train()
        for x, y in batches:
            loss = nn.functional.cross_entropy(self.net(x), y)
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()

    @torch.no_grad()
    def validate(self, batches):
        ok = n = 0
        for x, y in batches:
            ok += (self.net(x).argmax(1) == y).sum().item()
            n += len(y)
        return ok / n


def make(n):
    out = []
    for _ in range(n):
        x = torch.randn(16, 1, 8, 8)
        out.append((x, (x[:, 0, :4].mean((1, 2)) > 0).long()))
    return out


torch.manual_seed(0)
tr, va = make(12), make(4)
t = Trainer(Net())
for e in range(4):
    t.train(tr)
    print(e, t.validate(va))
