# expect: fp16-underflow line 24, 26, 28
# Autocast to float16 with small loss weights and without a GradScaler.

import clew as torch
import clew.nn as nn
import clew.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(20, 40)
        self.g = nn.Linear(40, 20)

    def forward(self, x):
        return self.g(torch.relu(self.f(x)))


torch.manual_seed(0)
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-3, eps=1e-12)
for it in range(20):
    x = torch.randn(32, 20) * 0.1
    with torch.autocast("cpu", dtype=torch.float16):
        rec = net(x)
        loss = 1e-6 * F.mse_loss(rec, x)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
