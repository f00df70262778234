# expect: nothing

import argparse
import torch
from torch import nn


class MT(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(8, 32), nn.ReLU())
        self.cls, self.reg = nn.Linear(32, 3), nn.Linear(32, 1)

    def forward(self, x):
        h = self.trunk(x)
        return self.cls(h), self.reg(h)


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", default=80, type=int)
    ap.add_argument("--alpha", default=0.5, type=float)
    a = ap.parse_args()
    torch.manual_seed(0)
    net = MT()
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    for s in range(a.steps):
        x = torch.randn(32, 8)
        c, r = net(x)
        loss = nn.functional.cross_entropy(
            c, x[:, :3].argmax(1)
        ) + a.alpha * nn.functional.mse_loss(r, x[:, 3:4] ** 2)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if s % 20 == 0:
            print(s, loss.item())
