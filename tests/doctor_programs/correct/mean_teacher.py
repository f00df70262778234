# expect: nothing
# Mean teacher with dropout noise in both networks.

import copy

import torch
from torch import nn

torch.manual_seed(0)
student = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 3))
teacher = copy.deepcopy(student)
for p in teacher.parameters():
    p.detach_()
opt = torch.optim.Adam(student.parameters(), lr=2e-3)
for i in range(30):
    x = torch.randn(32, 6)
    y = x[:8, :3].argmax(1)
    s = student(x)
    with torch.no_grad():
        t = teacher(x)
    loss = nn.functional.cross_entropy(s[:8], y) + 0.5 * nn.functional.mse_loss(
        s.softmax(1), t.softmax(1)
    )
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for a, b in zip(teacher.parameters(), student.parameters()):
            a.mul_(0.95).add_(b, alpha=0.05)
print(loss.item())
