# expect: nothing

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(90, 8)
y = x[:, :3].argmax(1)
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))

import copy

opt = torch.optim.Adam(net.parameters(), lr=0.01)
best, best_state, best_model = 1e9, None, None
for i in range(30):
    net.train()
    loss = F.cross_entropy(net(x[:60]), y[:60])
    opt.zero_grad()
    loss.backward()
    opt.step()
    net.eval()
    with torch.no_grad():
        v = F.cross_entropy(net(x[60:]), y[60:]).item()
    if v < best:
        best, best_state = v, copy.deepcopy(net.state_dict())
        best_model = copy.deepcopy(net)
net.load_state_dict(best_state)
