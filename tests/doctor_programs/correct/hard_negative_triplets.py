# expect: nothing
# Anchors, positives and negatives are picked by different indices.

import clew as torch
from clew import nn

torch.manual_seed(0)
data = torch.randn(90, 6)
label = torch.arange(90) % 3
net = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 5))
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
for i in range(25):
    a = torch.randint(0, 30, (24,)) * 3
    p = torch.randint(0, 30, (24,)) * 3
    n = torch.randint(0, 30, (24,)) * 3 + 1
    loss = nn.functional.triplet_margin_loss(net(data[a]), net(data[p]), net(data[n]))
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
