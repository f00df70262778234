# expect: nothing

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(5, 24), nn.ReLU(), nn.Linear(24, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
X = torch.randn(160, 5)
y = X[:, :1] - X[:, 1:2]
start = {k: v.clone() for k, v in net.state_dict().items()}
for ep in range(10):
    for i in torch.randperm(160).split(32):
        opt.zero_grad()
        loss = nn.functional.mse_loss(net(X[i]), y[i])
        loss.backward()
        opt.step()
torch.manual_seed(1)
final = net.state_dict()
print(sum((final[k] - start[k]).norm().item() for k in start))
