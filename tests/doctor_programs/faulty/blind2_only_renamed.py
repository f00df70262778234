# expect: target-not-detached line 15, 16

import clew as torch
import clew.nn as nn
import clew.nn.functional as F

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 3))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for i in range(30):
    x = torch.randn(16, 8)
    y = x[:, :3].argmax(1)
    u = torch.randn(64, 8)
    sup = F.cross_entropy(net(x), y)
    target = F.softmax(net(u) / 0.5, dim=1)
    cons = F.mse_loss(F.softmax(net(u + 0.1 * torch.randn_like(u)), 1), target)
    loss = sup + cons
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
