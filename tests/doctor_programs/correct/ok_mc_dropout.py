# expect: nothing

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(90, 8)
y = x[:, :3].argmax(1)

net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 3))
opt = torch.optim.Adam(net.parameters(), lr=0.01)
for i in range(30):
    opt.zero_grad()
    F.cross_entropy(net(x), y).backward()
    opt.step()
net.eval()
with torch.no_grad():
    acc = (net(x).argmax(1) == y).float().mean()
net.train()
with torch.no_grad():
    samples = torch.stack([net(x).softmax(1) for _ in range(10)])
print(samples.mean(0).argmax(1).float().mean())
