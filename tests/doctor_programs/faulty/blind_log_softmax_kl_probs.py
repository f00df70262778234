# expect: loss-activation-mismatch line 16, 17
# Distillation: kl_div receives the student's probabilities instead of log-probabilities.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(3)
teacher = nn.Sequential(nn.Linear(6, 40), nn.ReLU(), nn.Linear(40, 4)).eval().requires_grad_(False)
student = nn.Linear(6, 4)
opt = torch.optim.SGD(student.parameters(), lr=0.2)
tau = 2.0
for it in range(30):
    x = torch.randn(32, 6)
    p_t = F.softmax(teacher(x) / tau, dim=-1)
    p_s = F.softmax(student(x) / tau, dim=-1)
    loss = F.kl_div(p_s, p_t, reduction="batchmean") * tau**2
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
