# expect: batch-mixing line 20

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(90, 8)
y = x[:, :3].argmax(1)


class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(8, 4)
        self.val = nn.Linear(8, 4)
        self.out = nn.Linear(4, 3)

    def forward(self, x):
        w = torch.softmax(self.gate(x), 0)
        return self.out(w * self.val(x))


net = M()
opt = torch.optim.Adam(net.parameters(), lr=0.01)
for i in range(20):
    loss = F.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
