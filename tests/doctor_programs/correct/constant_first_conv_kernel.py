# expect: nothing
# A smoothing kernel starts as an average and is tuned.

import torch
from torch import nn

torch.manual_seed(0)
smooth = nn.Conv1d(1, 1, 5, padding=2, bias=False)
nn.init.constant_(smooth.weight, 0.2)
head = nn.Sequential(nn.Flatten(), nn.Linear(20, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam([*smooth.parameters(), *head.parameters()], lr=2e-3)
for i in range(25):
    x = torch.randn(16, 1, 20)
    loss = nn.functional.mse_loss(head(smooth(x)), x.mean(2))
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
