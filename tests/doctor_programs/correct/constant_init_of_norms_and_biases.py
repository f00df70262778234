# expect: nothing
# Constants are right for norms, biases and single outputs.

import clew as torch
from clew import nn


def init(m):
    if isinstance(m, nn.Linear):
        nn.init.xavier_uniform_(m.weight)
        nn.init.constant_(m.bias, 0.01)
    elif isinstance(m, nn.LayerNorm):
        nn.init.ones_(m.weight)
        nn.init.zeros_(m.bias)


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 20), nn.LayerNorm(20), nn.ReLU(), nn.Linear(20, 1))
net.apply(init)
nn.init.zeros_(net[3].weight)
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for i in range(30):
    x = torch.randn(16, 6)
    loss = nn.functional.mse_loss(net(x), x.max(1, keepdim=True).values)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
