# expect: bad-init line 18
# Recurrent weights filled with a constant by a name filter.

import clew as torch
from clew import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(4, 10, batch_first=True)
        self.fc = nn.Linear(10, 2)
        self.reset()

    def reset(self):
        for name, p in self.lstm.named_parameters():
            if "weight" in name:
                nn.init.constant_(p, 0.05)
            else:
                nn.init.zeros_(p)

    def forward(self, x):
        return self.fc(self.lstm(x)[0][:, -1])


torch.manual_seed(0)
m = Model()
opt = torch.optim.Adam(m.parameters(), lr=3e-3)
for i in range(25):
    x = torch.randn(16, 6, 4)
    y = (x[:, 0, 0] > x[:, 1, 1]).long()
    loss = nn.functional.cross_entropy(m(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
