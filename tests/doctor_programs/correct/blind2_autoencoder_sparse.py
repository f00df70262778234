# expect: nothing

import clew as torch
import clew.nn as nn

torch.manual_seed(0)


class AE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(20, 16), nn.ReLU())
        self.dec = nn.Linear(16, 20)

    def forward(self, x):
        z = self.enc(x)
        return self.dec(z), z


ae = AE()
opt = torch.optim.Adam(ae.parameters(), lr=3e-3)
B = torch.randn(5, 20)
data = torch.randn(200, 5) @ B
for ep in range(6):
    for xb in data[torch.randperm(200)].split(25):
        r, z = ae(xb)
        loss = nn.functional.mse_loss(r, xb) + 1e-3 * z.abs().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(ep, loss.item())
