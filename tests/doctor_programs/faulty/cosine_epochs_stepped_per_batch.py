# expect: scheduler-misuse line 13, 23
# T_max is the number of epochs, step() runs per batch: the rate swings up and down all the time.

import torch
from torch import nn

torch.manual_seed(119)
epochs = 10
x = torch.rand(256, 3)
y = torch.stack([x[:, 0] * x[:, 1], x[:, 2] ** 2], dim=1)
net = nn.Sequential(nn.Linear(3, 40), nn.SiLU(), nn.Linear(40, 2))
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs)


def train_one_epoch():
    rates = []
    for xb, yb in zip(x.split(16), y.split(16)):
        loss = nn.functional.l1_loss(net(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        rates.append(scheduler.get_last_lr()[0])
    return loss.item(), rates


for epoch in range(epochs):
    loss, rates = train_one_epoch()
    print(f"{epoch}: loss {loss:.4f} lr from {min(rates):.1e} to {max(rates):.1e}")
