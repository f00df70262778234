# expect: aliased-buffer line 20

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(90, 8)
y = x[:, :3].argmax(1)
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))

opt = torch.optim.Adam(net.parameters(), lr=0.01)
snapshots = []
for i in range(20):
    loss = F.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 5 == 0:
        snapshots.append(net.state_dict())
avg = {k: sum(s[k] for s in snapshots) / len(snapshots) for k in snapshots[0]}
net.load_state_dict(snapshots[0])
