# expect: nothing
# OneCycleLR stepped per batch, as it should be.

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(128, 5)
dl = DataLoader(TensorDataset(x, x.pow(2).mean(1, keepdim=True)), 16, shuffle=True, drop_last=True)
net = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.AdamW(net.parameters())
sch = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=1e-2, epochs=5, steps_per_epoch=len(dl))
for ep in range(5):
    for a, b in dl:
        opt.zero_grad()
        l = nn.functional.mse_loss(net(a), b)
        l.backward()
        opt.step()
        sch.step()
    print(ep, sch.get_last_lr()[0], l.item())
