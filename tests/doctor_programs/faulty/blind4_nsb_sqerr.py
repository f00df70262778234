# expect: non-scalar-backward line 8, 20

import clew as torch
import clew.nn as nn


def loss_fn(pred, target):
    return (pred - target) ** 2


def main():
    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    x = torch.randn(16, 3)
    t = x.sum(1, keepdim=True)
    for i in range(10):
        opt.zero_grad()
        loss = loss_fn(model(x), t)
        loss.backward()
        opt.step()


main()
