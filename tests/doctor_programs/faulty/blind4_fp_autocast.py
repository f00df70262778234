# expect: fp16-underflow line 24, 25, 26, 28

import torch
import torch.nn as nn


class AE(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 8))
        self.d = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 32))

    def forward(self, x):
        return self.d(self.e(x))


torch.manual_seed(0)
ae = AE()
opt = torch.optim.Adam(ae.parameters(), lr=1e-3)
# spectra: intensities around 1e-4
X = torch.rand(256, 32) * 1e-4
for step in range(60):
    xb = X[torch.randint(0, 256, (64,))]
    with torch.autocast("cpu", dtype=torch.float16):
        rec = ae(xb)
        loss = ((rec.float() - xb) ** 2).mean() * 1e-3
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 0:
        print(step, loss.item())
