# expect: scheduler-misuse line 16, 23
# T_max is the number of epochs, the call sits in the batch loop.

import clew as torch
import clew.nn as nn
from clew.utils.data import DataLoader, TensorDataset


def main(epochs=8):
    torch.manual_seed(0)
    x = torch.randn(240, 5)
    y = x.pow(2).sum(1, keepdim=True)
    loader = DataLoader(TensorDataset(x, y), batch_size=12, shuffle=True)
    net = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 1))
    opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=epochs)
    for epoch in range(epochs):
        for xb, yb in loader:
            loss = nn.functional.mse_loss(net(xb), yb)
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
        print(epoch, loss.item())


main()
