# expect: nothing
# The model is evaluated on a sliding window whose windows overlap those of training in no row.

import torch
from torch import nn

torch.manual_seed(0)
s = torch.sin(torch.arange(200) * 0.1) + 0.05 * torch.randn(200)
W = s.unfold(0, 9, 1)
tr, te = W[:140], W[150:]
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), 5e-3)
for ep in range(6):
    net.train()
    for i in torch.randperm(140).split(35):
        opt.zero_grad()
        nn.functional.mse_loss(net(tr[i, :8]), tr[i, 8:]).backward()
        opt.step()
    net.eval()
    with torch.inference_mode():
        print(ep, nn.functional.mse_loss(net(te[:, :8]), te[:, 8:]).item())
