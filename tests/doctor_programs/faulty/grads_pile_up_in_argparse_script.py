# expect: missing-zero-grad line 33, 35
# The update of an argparse script never clears anything.

import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--lr", type=float, default=0.01)
    p.add_argument("--steps", type=int, default=40)
    p.add_argument("--hidden", type=int, default=24)
    return p.parse_args()


class Sine(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.inp = nn.Linear(1, hidden)
        self.mid = nn.Linear(hidden, hidden)
        self.out = nn.Linear(hidden, 1)

    def forward(self, t):
        return self.out(torch.tanh(self.mid(torch.tanh(self.inp(t)))))


def update(net, opt, t, y):
    err = F.mse_loss(net(t), y)
    err.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 5.0)
    opt.step()
    return err.item()


if __name__ == "__main__":
    args = get_args()
    torch.manual_seed(1)
    net = Sine(args.hidden)
    opt = torch.optim.SGD(net.parameters(), lr=args.lr, momentum=0.5)
    best = math.inf
    for step in range(args.steps):
        t = torch.rand(32, 1) * 6.28
        best = min(best, update(net, opt, t, torch.sin(t)))
    print(f"best {best:.4f}")
