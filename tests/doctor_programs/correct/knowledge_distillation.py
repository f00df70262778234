# expect: nothing
# A frozen teacher under no_grad, log-probabilities against probabilities in kl_div.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(241)
teacher = nn.Sequential(nn.Linear(6, 64), nn.Tanh(), nn.Dropout(0.1), nn.Linear(64, 4))
teacher.eval()
student = nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 4))
optimizer = torch.optim.Adam(student.parameters(), lr=1e-2)
T, alpha = 2.0, 0.7


def distill(student_logits, teacher_logits, target):
    soft = F.kl_div(
        F.log_softmax(student_logits / T, dim=1),
        F.softmax(teacher_logits / T, dim=1),
        reduction="batchmean",
    )
    return alpha * T * T * soft + (1 - alpha) * F.cross_entropy(student_logits, target)


x = torch.randn(120, 6)
with torch.no_grad():
    y = teacher(x).argmax(1)
losses = []
for _ in range(20):
    for xb, yb in zip(x.split(40), y.split(40)):
        with torch.no_grad():
            goal = teacher(xb)
        loss = distill(student(xb), goal, yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
print("distillation", losses[0], losses[-1])
