# expect: nothing
# Monte-Carlo dropout: dropout layers are switched on again at evaluation on purpose.

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), 5e-3)
x = torch.randn(80, 3)
y = x.sum(1, keepdim=True)
net.train()
for _ in range(30):
    opt.zero_grad()
    nn.functional.mse_loss(net(x), y).backward()
    opt.step()
net.eval()
for m in net.modules():
    if isinstance(m, nn.Dropout):
        m.train()
xt = torch.randn(20, 3)
with torch.no_grad():
    samples = torch.stack([net(xt) for _ in range(10)])
print(samples.mean(0).shape, samples.std(0).mean())
