# expect: nothing
# Every few steps an evaluation inside the training loop, with mode restored.

import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = nn.Linear(7, 24)
        self.bn = nn.BatchNorm1d(24)
        self.drop = nn.Dropout(0.2)
        self.l2 = nn.Linear(24, 3)

    def forward(self, x):
        return self.l2(self.drop(F.relu(self.bn(self.l1(x)))))


def evaluate(net, x, y):
    was = net.training
    net.eval()
    with torch.inference_mode():
        acc = (net(x).argmax(1) == y).float().mean().item()
    net.train(was)
    return acc


torch.manual_seed(0)
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
xt, xv = torch.randn(256, 7), torch.randn(64, 7)


def f(t):
    return t[:, :3].argmax(1)


step = 0
for epoch in range(3):
    for xb in xt.split(32):
        loss = F.cross_entropy(net(xb), f(xb))
        opt.zero_grad()
        loss.backward()
        opt.step()
        step += 1
        if step % 5 == 0:
            print(step, evaluate(net, xv, f(xv)))
