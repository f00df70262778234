# expect: loss-broadcast line 28

import clew as torch
from clew import nn
from clew.utils.data import Dataset, DataLoader


class Tab(Dataset):
    def __init__(self, n):
        self.x = torch.randn(n, 6)
        self.y = self.x[:, 0].abs() + self.x[:, 1]

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.y[i].item()


torch.manual_seed(0)
dl = DataLoader(Tab(160), batch_size=20, shuffle=True)
m = nn.Sequential(nn.Linear(6, 24), nn.GELU(), nn.Linear(24, 1))
opt = torch.optim.AdamW(m.parameters(), lr=5e-3)
crit = nn.L1Loss()
for ep in range(4):
    for x, y in dl:
        y = y.float()
        loss = crit(m(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(ep, loss.item())
