# expect: nothing

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
x = torch.linspace(-1, 1, 64).unsqueeze(1)
y = x**3 + 0.05 * torch.randn_like(x)
for i in range(100):
    opt.zero_grad()
    loss = nn.functional.mse_loss(net(x), y)
    loss.backward()
    opt.step()
net.eval()
with torch.no_grad():
    print("mse", nn.functional.mse_loss(net(x), y).item())
