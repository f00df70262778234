# expect: scheduler-misuse line 11, 22

import torch
import torch.nn as nn


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=10)
    # Adam works better here
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    X = torch.randn(256, 6)
    y = X[:, :1].abs()
    for epoch in range(10):
        for i in torch.randperm(256).split(32):
            opt.zero_grad()
            loss = nn.functional.mse_loss(model(X[i]), y[i])
            loss.backward()
            opt.step()
        sched.step()
        print(epoch, loss.item(), opt.param_groups[0]["lr"])


if __name__ == "__main__":
    main()
