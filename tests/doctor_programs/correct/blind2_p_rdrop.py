# expect: nothing

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 3))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for i in range(30):
    x = torch.randn(32, 8)
    y = x[:, :3].argmax(1)
    a, b = net(x), net(x)
    kl = F.kl_div(F.log_softmax(a, 1), F.softmax(b, 1), reduction="batchmean") + F.kl_div(
        F.log_softmax(b, 1), F.softmax(a, 1), reduction="batchmean"
    )
    loss = 0.5 * (F.cross_entropy(a, y) + F.cross_entropy(b, y)) + 0.5 * kl
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
