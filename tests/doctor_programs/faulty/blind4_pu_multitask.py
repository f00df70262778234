# expect: param-unused line 13, 35

import argparse
import torch
from torch import nn


class MTL(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(8, 32), nn.ReLU())
        self.cls_head = nn.Linear(32, 3)
        self.reg_head = nn.Linear(32, 1)

    def forward(self, x):
        h = self.trunk(x)
        return self.cls_head(h), self.reg_head(h).squeeze(-1)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=60)
    p.add_argument("--w", type=float, default=0.5)
    a = p.parse_args()
    torch.manual_seed(0)
    net = MTL()
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    X = torch.randn(256, 8)
    yc, yr = X[:, :3].argmax(1), X[:, 3] ** 2
    for s in range(a.steps):
        i = torch.randint(0, 256, (32,))
        logits, reg = net(X[i])
        cls_loss = nn.functional.cross_entropy(logits, yc[i])
        reg_loss = nn.functional.mse_loss(reg, yr[i])
        loss = cls_loss
        opt.zero_grad()
        loss.backward()
        opt.step()
        if s % 20 == 0:
            print(s, cls_loss.item(), a.w * reg_loss.item())


main()
