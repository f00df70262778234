# expect: aliased-buffer line 20

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(90, 8)
y = x[:, :3].argmax(1)
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))

opt = torch.optim.Adam(net.parameters(), lr=0.01)
best = 1e9
for i in range(20):
    opt.zero_grad()
    loss = F.cross_entropy(net(x), y)
    loss.backward()
    opt.step()
    if i == 5:
        best_state = net.state_dict()
net.load_state_dict(best_state)
