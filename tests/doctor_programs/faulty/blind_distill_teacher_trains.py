# expect: target-not-detached line 14, 15
# The mean-teacher's consistency target keeps its graph and the teacher is the student itself.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(17)
student = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(student.parameters(), lr=1e-3)
x_lab, y_lab, x_unl = torch.randn(16, 5), torch.randn(16, 1), torch.randn(64, 5)
for it in range(30):
    noisy = x_unl + 0.1 * torch.randn_like(x_unl)
    pseudo_target = student(x_unl)
    consistency = F.mse_loss(student(noisy), pseudo_target)
    loss = F.mse_loss(student(x_lab), y_lab) + 0.5 * consistency
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
