# expect: loss-activation-mismatch line 18, 20
# kl_div wants log-probabilities of the student and gets its softmax.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(123)
teacher = nn.Sequential(nn.Linear(6, 64), nn.Tanh(), nn.Linear(64, 4)).eval()
student = nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 4))
for p in teacher.parameters():
    p.requires_grad_(False)
optimizer = torch.optim.Adam(student.parameters(), lr=5e-3)
T = 2.0


def distillation_loss(student_logits, teacher_logits):
    p_student = F.softmax(student_logits / T, dim=1)
    p_teacher = F.softmax(teacher_logits / T, dim=1)
    return F.kl_div(p_student, p_teacher, reduction="batchmean") * T * T


x = torch.randn(120, 6)
for epoch in range(10):
    for xb in x.split(40):
        with torch.no_grad():
            goal = teacher(xb)
        loss = distillation_loss(student(xb), goal)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 3 == 0:
        print(epoch, loss.item())
