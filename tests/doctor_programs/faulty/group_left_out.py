# expect: param-not-in-optimizer line 17, 24

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(64, 8)
y = x[:, :1] * 2 - x[:, 1:2]


class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(8, 16)
        self.mid = nn.Linear(16, 16)
        self.dec = nn.Linear(16, 1)

    def forward(self, x):
        return self.dec(torch.tanh(self.mid(torch.tanh(self.enc(x)))))


net = M()
opt = torch.optim.Adam(
    [{"params": net.enc.parameters(), "lr": 1e-3}, {"params": net.dec.parameters()}], lr=1e-2
)
for i in range(15):
    loss = F.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
