# expect: target-not-detached line 20, 22

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(90, 8)
y = x[:, :3].argmax(1)

teacher = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 3))
opt_t = torch.optim.Adam(teacher.parameters(), lr=1e-2)
for i in range(20):
    opt_t.zero_grad()
    F.cross_entropy(teacher(x), y).backward()
    opt_t.step()
student = nn.Linear(8, 3)
opt = torch.optim.Adam(student.parameters(), lr=1e-2)
for i in range(20):
    t = teacher(x)
    s = student(x)
    loss = F.kl_div(F.log_softmax(s, 1), F.softmax(t, 1), reduction="batchmean")
    opt.zero_grad()
    loss.backward()
    opt.step()
