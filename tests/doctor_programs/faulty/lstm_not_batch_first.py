# expect: batch-mixing line 13, 17

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(3, 16)
        self.fc = nn.Linear(16, 2)

    def forward(self, x):
        o, _ = self.rnn(x)
        return self.fc(o[:, -1])


x = torch.randn(32, 7, 3)
y = (x[:, :, 0].sum(1) > 0).long()
m = M()
opt = torch.optim.Adam(m.parameters(), lr=0.01)
for i in range(20):
    opt.zero_grad()
    F.cross_entropy(m(x), y).backward()
    opt.step()
