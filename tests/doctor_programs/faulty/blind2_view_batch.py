# expect: batch-mixing line 14

import torch
import torch.nn as nn


class SeqCls(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(4, 16)
        self.fc = nn.Linear(16, 2)

    def forward(self, x):
        x = x.reshape(x.size(1), x.size(0), x.size(2))
        out, _ = self.lstm(x)
        return self.fc(out[-1])


torch.manual_seed(0)
m = SeqCls()
opt = torch.optim.Adam(m.parameters(), lr=5e-3)
for i in range(20):
    x = torch.randn(16, 9, 4)
    y = (x[:, :, 0].mean(1) > 0).long()
    loss = nn.functional.cross_entropy(m(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
