# expect: nothing

import torch
from torch import nn

torch.manual_seed(0)
ae = nn.Sequential(
    nn.Conv2d(1, 8, 3, stride=2, padding=1),
    nn.ReLU(),
    nn.Conv2d(8, 16, 3, stride=2, padding=1),
    nn.ReLU(),
    nn.ConvTranspose2d(16, 8, 2, stride=2),
    nn.ReLU(),
    nn.ConvTranspose2d(8, 1, 2, stride=2),
    nn.Sigmoid(),
)
opt = torch.optim.Adam(ae.parameters(), lr=3e-3)
crit = nn.BCELoss()
yy, xx = torch.meshgrid(torch.arange(12.0), torch.arange(12.0), indexing="ij")
for it in range(40):
    c = torch.rand(16, 2) * 12
    img = (((xx - c[:, :1, None]) ** 2 + (yy - c[:, 1:, None]) ** 2) < 9).float().unsqueeze(1)
    noisy = (img + 0.2 * torch.randn_like(img)).clamp(0, 1)
    loss = crit(ae(noisy), img)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 10 == 0:
        print(it, loss.item())
