# expect: loss-activation-mismatch line 15

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
teacher = nn.Linear(6, 4).requires_grad_(False)
student = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4))
opt = torch.optim.Adam(student.parameters(), lr=1e-3)
for i in range(30):
    x = torch.randn(32, 6)
    with torch.no_grad():
        t = F.softmax(teacher(x), -1)
    loss = F.kl_div(F.softmax(student(x), -1), t, reduction="batchmean")
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
