# expect: wrong-reduction line 14, 15, 16

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 10))
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
data = torch.randn(256, 3) @ torch.randn(3, 10)
for ep in range(8):
    for xb in data.split(64):
        noisy = xb + 0.1 * torch.randn_like(xb)
        rec = net(noisy)
        recon = nn.functional.mse_loss(rec, xb, reduction="sum")
        smooth = nn.functional.l1_loss(rec, net(xb), reduction="mean")
        loss = recon + smooth
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(ep, recon.item(), smooth.item())
