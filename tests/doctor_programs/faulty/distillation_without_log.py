# expect: loss-activation-mismatch line 10, 12
# kl_div gets probabilities in place of log-probabilities.

import torch
import torch.nn as nn
import torch.nn.functional as F


def distill(student_logits, teacher_logits, T=3.0):
    s = F.softmax(student_logits / T, dim=-1)
    t = F.softmax(teacher_logits / T, dim=-1)
    return F.kl_div(s, t, reduction="batchmean") * T**2


torch.manual_seed(0)
teacher = nn.Linear(8, 5).requires_grad_(False)
student = nn.Sequential(nn.Linear(8, 6), nn.ReLU(), nn.Linear(6, 5))
opt = torch.optim.SGD(student.parameters(), lr=0.05)
for i in range(25):
    x = torch.randn(40, 8)
    loss = distill(student(x), teacher(x)) + 0.1 * F.cross_entropy(student(x), teacher(x).argmax(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
