# expect: loss-activation-mismatch line 15, 16

import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
teacher = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4)).eval()
student = nn.Linear(8, 4)
opt = torch.optim.Adam(student.parameters(), lr=1e-2)
for i in range(80):
    x = torch.randn(32, 8)
    with torch.no_grad():
        t = F.softmax(teacher(x), dim=1)
    s = F.softmax(student(x), dim=1)
    loss = F.kl_div(s, t, reduction="batchmean")
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 20 == 0:
        print(i, loss.item())
