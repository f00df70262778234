# expect: nothing

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
X = torch.randn(256, 7)
dl = DataLoader(TensorDataset(X, X[:, :1] ** 2), batch_size=32, shuffle=True)
net = nn.Sequential(nn.Linear(7, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.AdamW(net.parameters(), lr=5e-3)
E = 6
sch = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=E * len(dl))
for e in range(E):
    for x, y in dl:
        loss = nn.functional.mse_loss(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        sch.step()
    print(e, loss.item(), opt.param_groups[0]["lr"])
